/* Objects and their dependencies: from a name to an object, breadth-first over DT_NEEDED, and the order in which
 * the loader relocates what it brought. */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "load/process.h"

bool walk_knows_name(const struct object *o, const char *name)
{
    if (str_eq(o->name, name))
        return true;
    for (size_t i = 0; i < o->names.n; i++)
        if (str_eq(o->names.at[i], name))
            return true;
    return false;
}

void walk_add_name(struct object *o, const char *name)
{
    for (size_t i = 0; i < o->names.n; i++)
        if (str_eq(o->names.at[i], name))
            return;
    vec_push(&o->names, name);
}

struct object *walk_new(struct load_process *proc, const char *path, const char *asked, struct object *loader,
                        const struct elf *elf)
{
    struct object *o = arena_new(&proc->arena, struct object);
    o->name = path;
    vec_push(&o->names, arena_strdup(&proc->arena, asked));
    o->elf = elf;
    o->soname = elf ? elf->soname : NULL;
    o->loader = loader;
    o->prev = proc->tail;
    if (proc->tail)
        proc->tail->next = o;
    else
        proc->head = o;
    proc->tail = o;
    proc->n_objects++;
    return o;
}

void walk_remove(struct load_process *proc, struct object *o)
{
    if (o->prev)
        o->prev->next = o->next;
    else
        proc->head = o->next;
    if (o->next)
        o->next->prev = o->prev;
    else
        proc->tail = o->prev;
    vec_done(&o->names);
    proc->n_objects--;
}

/* Takes o out of its place in the link map and puts it before other. */
static void move_before(struct load_process *proc, struct object *o, struct object *other)
{
    if (o == other)
        return;
    if (o->prev)
        o->prev->next = o->next;
    else
        proc->head = o->next;
    if (o->next)
        o->next->prev = o->prev;
    else
        proc->tail = o->prev;
    o->prev = other->prev;
    o->next = other;
    if (o->prev)
        o->prev->next = o;
    else
        proc->head = o;
    other->prev = o;
}

static struct object *find_loaded(struct load_process *proc, const char *name)
{
    for (struct object *o = proc->head; o; o = o->next) {
        if (walk_knows_name(o, name))
            return o;
        if (o->soname_added || !o->soname || !str_eq(o->soname, name))
            continue;
        walk_add_name(o, o->soname);
        o->soname_added = true;
        return o;
    }
    return NULL;
}

static void fill_need(struct load_need *need, enum load_status status, const struct search_found *found,
                      const char *problem)
{
    if (!need)
        return;
    need->status = status;
    need->rule = found->rule;
    need->path = found->fatal ? found->fatal : found->path;
    need->problem = problem;
    need->elf = status == LOAD_FOUND ? found->elf : NULL;
}

/* The text behind "NAME: " of the newest error. */
static const char *problem_of(const struct load_process *proc, const char *object)
{
    size_t n = strlen(object);
    const char *text = proc->last_error;
    return strncmp(text, object, n) == 0 && str_starts(text + n, ": ") ? text + n + 2 : text;
}

/* What is wrong with a file once it is mapped; the loader names it as it was asked for. */
static bool check_mapped(struct load_process *proc, const char *name, const struct elf *elf, struct load_mode mode)
{
    enum elf_problem problem = elf_problem_in(elf, proc->libc.minor);
    switch (problem) {
    case ELF_FINE:
        break;
    case ELF_PIE:
        if (proc->libc.minor > 0 && proc->libc.minor < 30)
            break;
        load_fail(proc, 0, name, "%s", elf_problem_text(problem));
        return false;
    case ELF_NOOPEN:
        if (!mode.dlopen)
            break;
        load_fail(proc, 0, name, "%s", elf_problem_text(problem));
        return false;
    case ELF_CUT:
        load_abort(proc, "Bus error: '%s' is cut short", name);
        return false;
    case ELF_DAMAGED:
        load_abort(proc, "'%s' is damaged: %s", name, elf_problem_text(problem));
        return false;
    default:
        load_fail(proc, 0, name, "%s", elf_problem_text(problem));
        return false;
    }
    /* From 2.41 on no dlopen makes the stack executable; a missing PT_GNU_STACK asks for it on x86_64. */
    bool stack = elf->exec_stack == ELF_STACK_EXEC || elf->exec_stack == ELF_STACK_UNSAID;
    if (stack && mode.dlopen && proc->libc.minor >= 41 && !proc->exec_stack) {
        load_fail(proc, EINVAL, name, "cannot enable executable stack as shared object requires");
        return false;
    }
    proc->exec_stack = proc->exec_stack || stack;
    return true;
}

static struct object *map_found(struct load_process *proc, struct object *loader, const char *name,
                                struct load_mode mode, const struct search_found *found)
{
    for (struct object *o = proc->head; o; o = o->next)
        if (o->has_id && o->elf->dev == found->elf->dev && o->elf->ino == found->elf->ino) {
            walk_add_name(o, arena_strdup(&proc->arena, name));
            return o;
        }
    if (!check_mapped(proc, name, found->elf, mode))
        return NULL;
    if (proc->n_objects >= PROCESS_MAX_OBJECTS) {
        proc->unknown = true;
        load_fail(proc, ENOMEM, name, "cannot create shared object descriptor");
        return NULL;
    }
    struct object *o = walk_new(proc, arena_strdup(&proc->arena, found->path), name, mode.direct ? NULL : loader,
                                found->elf);
    o->has_id = true;
    o->rule = found->rule;
    if (!proc->libc_object && o->soname && str_eq(o->soname, "libc.so.6"))
        proc->libc_object = o;
    return o;
}

static void fail_open(struct load_process *proc, const char *name, struct search_found *found, struct load_need *need)
{
    if (found->other_class)
        load_fail(proc, 0, name, "wrong ELF class: ELFCLASS32");
    else
        load_fail(proc, proc->error_number, name, "cannot open shared object file");
    if (!need)
        return;
    need->status = found->other_class ? LOAD_WRONG_CLASS : LOAD_MISSING;
    need->problem = problem_of(proc, name);
    if (found->searched && found->searched->n) {
        const char **copy = arena_alloc(&proc->arena, found->searched->n * sizeof(*copy));
        memcpy(copy, found->searched->at, found->searched->n * sizeof(*copy));
        need->searched = copy;
        need->n_searched = found->searched->n;
    }
}

struct object *walk_map(struct load_process *proc, struct object *loader, const char *name, struct load_mode mode,
                        struct load_need *need)
{
    struct search_found found = { 0 };
    struct object *o = find_loaded(proc, name);
    if (o) {
        found = (struct search_found){ .path = o->name, .elf = o->elf, .rule = LOAD_ALREADY };
        fill_need(need, LOAD_FOUND, &found, NULL);
        return o;
    }
    struct names searched = { 0 };
    found.searched = need ? &searched : NULL;
    if (!strchr(name, '/')) {
        search_name(proc, loader, name, mode, &found);
    } else {
        const char *path = search_expand(proc, loader ? loader : proc->main, name);
        (void)search_open(proc, path, LOAD_AS_GIVEN, &found);
    }
    if (found.path && !found.fatal) {
        o = map_found(proc, loader, name, mode, &found);
        fill_need(need, o ? LOAD_FOUND : LOAD_BAD_FILE, &found, o ? NULL : problem_of(proc, name));
        if (o && need)
            need->path = o->name;
    } else if (found.fatal) {
        fill_need(need, LOAD_BAD_FILE, &found, problem_of(proc, found.fatal));
    } else {
        fail_open(proc, name, &found, need);
    }
    vec_done(&searched);
    return o;
}

/* One element of the breadth-first list. */
struct step {
    struct object *object;
    struct step *next;
    bool done;
};

struct walk {
    struct load_process *proc;
    struct object *root;
    struct step *first, *tail;
    struct load_mode mode;
    bool failed;
};

static struct step *step_new(struct walk *w, struct object *o)
{
    struct step *s = arena_new(&w->proc->arena, struct step);
    s->object = o;
    o->reserved = true;
    return s;
}

static void append(struct walk *w, struct object *o)
{
    struct step *s = step_new(w, o);
    if (w->tail)
        w->tail->next = s;
    else
        w->first = s;
    w->tail = s;
}

/* After a failure only explore goes on, and not for ever. */
static bool goes_on(const struct walk *w)
{
    return !w->failed || (w->proc->explore && w->proc->needs.n < PROCESS_MAX_NEEDS);
}

/* Is a need with this name written down already (or is there no more room)? */
static bool need_known(const struct load_process *proc, const char *name)
{
    if (proc->needs.n >= PROCESS_MAX_NEEDS)
        return true;
    for (size_t i = 0; i < proc->needs.n; i++)
        if (str_eq(proc->needs.at[i].name, name))
            return true;
    return false;
}

/* Opens one NEEDED of o and writes it down. */
static struct object *open_needed(struct walk *w, struct object *o, const char *name)
{
    struct load_process *proc = w->proc;
    struct load_need need = { .name = name, .needed_by = o->is_main ? NULL : o->name };
    bool note = !need_known(proc, name);
    struct object *dep = walk_map(proc, o, name, w->mode, note ? &need : NULL);
    if (note)
        vec_push(&proc->needs, need);
    return dep;
}

/* $-tokens of a NEEDED; NULL: the entry is passed over, or (in a program with more rights) an error. */
static const char *needed_name(struct walk *w, struct object *o, const char *text)
{
    const char *name = search_expand(w->proc, o, text);
    if (name != text && w->proc->secure) {
        load_fail(w->proc, 0, text, "DST not allowed in SUID/SGID programs");
        w->failed = true;
        return NULL;
    }
    return *name ? name : NULL;
}

/* A filtee goes before the object that names it, in the list and in the link map. Returns the step that now holds
 * the object. */
static struct step *insert_filtee(struct walk *w, struct step *at, struct object *aux)
{
    struct step *moved = arena_new(&w->proc->arena, struct step);
    *moved = *at;
    struct object *owner = at->object;
    if (aux->reserved) {
        struct step *late = moved;
        while (late->next && late->next->object != aux)
            late = late->next;
        if (!late->next)
            return at; /* it stands earlier */
        struct step *gone = late->next;
        at->next = moved;
        if (w->tail == gone)
            w->tail = late;
        late->next = gone->next;
    } else {
        at->next = moved;
        aux->reserved = true;
    }
    at->object = aux;
    at->done = false;
    move_before(w->proc, aux, owner);
    if (w->tail == at)
        w->tail = moved;
    return moved;
}

/* The dependencies that an object keeps for sorting. */
struct kept {
    bool keep;
    struct objects deps;
};

/* One DT_AUXILIARY or DT_FILTER. Returns the step that now holds the object. */
static struct step *open_filtee(struct walk *w, struct step *step, size_t i, struct kept *kept)
{
    struct object *o = step->object;
    const char *name = needed_name(w, o, o->elf->filters[i]);
    if (!name)
        return step;
    struct object *aux = walk_map(w->proc, o, name, w->mode, NULL);
    if (!aux && o->elf->filter_info && o->elf->filter_info[i].optional && !w->proc->aborts) {
        w->proc->error = NULL;
        return step;
    }
    w->failed = w->failed || !aux;
    if (!aux)
        return step;
    if (kept->keep)
        vec_push(&kept->deps, aux);
    return insert_filtee(w, step, aux);
}

static void open_one(struct walk *w, struct object *o, size_t i, struct kept *kept)
{
    const char *name = needed_name(w, o, o->elf->needed[i]);
    struct object *dep = name ? open_needed(w, o, name) : NULL;
    w->failed = w->failed || (name && !dep);
    if (!dep)
        return;
    if (!dep->reserved)
        append(w, dep);
    if (kept->keep)
        vec_push(&kept->deps, dep);
}

/* Brings what one object needs, in the order of its dynamic section. */
static void open_all(struct walk *w, struct step *step)
{
    struct object *o = step->object;
    const struct elf *elf = o->elf;
    size_t n_needed = elf ? elf->n_needed : 0, n_filters = elf ? elf->n_filters : 0;
    struct kept kept = { .keep = elf && !o->searchlist && !o->initfini && o != w->root };
    if (kept.keep)
        vec_push(&kept.deps, o);
    for (size_t i = 0, f = 0; i <= n_needed; i++) {
        for (; f < n_filters && (i == n_needed || !elf->filter_info || elf->filter_info[f].needed_before <= i); f++)
            if (goes_on(w))
                step = open_filtee(w, step, f, &kept);
        if (i < n_needed && goes_on(w))
            open_one(w, o, i, &kept);
    }
    if (kept.keep && !w->failed) {
        o->n_initfini = kept.deps.n;
        o->initfini = arena_alloc(&w->proc->arena, kept.deps.n * sizeof(struct object *));
        memcpy(o->initfini, kept.deps.at, kept.deps.n * sizeof(struct object *));
    }
    vec_done(&kept.deps);
}

/* Depth-first over dependencies, from the last object of the list to the first, each object placed in front of what
 * was placed before: so a dependency stands behind all that need it. The depth is not bounded by the stack. */
static void sort_objects(struct load_process *proc, struct object **list, size_t n)
{
    struct frame {
        struct object *o;
        size_t next;
    };
    struct object **sorted = arena_alloc(&proc->arena, n * sizeof(*sorted));
    struct frame *stack = xcalloc(n + 1, sizeof(*stack));
    struct object *first = list[0];
    size_t at = n;
    for (struct object *o = proc->head; o; o = o->next)
        o->visited = true;
    for (size_t i = 0; i < n; i++)
        list[i]->visited = false;
    for (size_t i = n; i-- > 0;) {
        size_t depth = 0;
        if (!list[i]->visited) {
            list[i]->visited = true;
            stack[depth++] = (struct frame){ list[i], 0 };
        }
        while (depth > 0) {
            struct frame *f = &stack[depth - 1];
            if (f->next < f->o->n_initfini) {
                struct object *dep = f->o->initfini[f->next++];
                if (!dep->visited && !dep->is_main) {
                    dep->visited = true;
                    stack[depth++] = (struct frame){ dep, 0 };
                }
            } else {
                sorted[--at] = f->o;
                depth--;
            }
        }
    }
    free(stack);
    /* The object opened is relocated last even when others need it (libc alone takes part in the order). */
    size_t where = 0;
    while (where < n && sorted[where] != first)
        where++;
    if (where < n && first != proc->libc_object) {
        memmove(sorted + 1, sorted, where * sizeof(*sorted));
        sorted[0] = first;
    }
    memcpy(list, sorted, n * sizeof(*list));
}

bool walk_deps(struct load_process *proc, struct object *root, struct object **preloads, size_t n_preloads,
               struct load_mode mode)
{
    struct walk w = { .proc = proc, .root = root, .mode = mode };
    int saved = proc->error_number;
    proc->error_number = 0;
    append(&w, root);
    for (size_t i = 0; i < n_preloads; i++)
        append(&w, preloads[i]);
    for (struct step *s = w.first; s && goes_on(&w);) {
        s->done = true;
        open_all(&w, s);
        while (s && s->done)
            s = s->next;
    }
    if (proc->error_number == 0)
        proc->error_number = saved;
    size_t n = 0;
    for (struct step *s = w.first; s; s = s->next) {
        s->object->reserved = false;
        n++;
    }
    root->searchlist = arena_alloc(&proc->arena, n * sizeof(struct object *));
    root->initfini = arena_alloc(&proc->arena, n * sizeof(struct object *));
    root->n_searchlist = n;
    root->n_initfini = 0;
    n = 0;
    for (struct step *s = w.first; s; s = s->next)
        root->searchlist[n++] = s->object;
    root->initfini[0] = root;
    size_t at = 1;
    for (size_t i = 0; i < n; i++)
        if (root->searchlist[i] != root)
            root->initfini[at++] = root->searchlist[i];
    sort_objects(proc, root->initfini, n);
    root->n_initfini = n;
    return !w.failed && !proc->error;
}
