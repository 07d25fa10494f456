% What fits together, said a second time: one machine, one release, at most one build of torch, and what must hold
% between them. The facts come from kb/*.tsv (oracle.py); wishes come query by query.

1 { ort(O) : rel(O) } 1.
1 { plat(P) : platform(P) } 1.
1 { py(Y) : python(Y) } 1.
1 { np(N) : numpy(N) } 1.
1 { drv(D) : driver(D) } 1.
1 { cc(C) : gpu(C) } 1.
1 { glibc(0..63) } 1.
{ torch(T) : build(T) } 1.

os(linux) :- plat(P), linux(P).
os(windows) :- plat(P), not linux(P).

% python tags
:- ort(O), plat(P), py(Y), not ort_py(O, P, Y).
:- torch(T), plat(P), not torch_plat(T, P).
:- torch(T), plat(P), torch_plat(T, P), py(Y), not torch_py(T, P, Y).

% glibc
:- os(linux), ort(O), plat(P), ort_glibc(O, P, N), glibc(G), G < N.
:- os(linux), torch(T), plat(P), torch_glibc(T, P, N), glibc(G), G < N.
:- os(linux), ort(O), exec_stack(O), glibc(G), G >= 41.

% torch in the same process
t_cuda(M) :- torch(T), plat(P), torch_cuda(T, P, M), not cpu_only.
t_cudnn(M) :- torch(T), plat(P), torch_cudnn(T, P, M), not cpu_only.
o_cuda(M) :- ort(O), ort_cuda(O, M).
o_cudnn(M) :- ort(O), ort_cudnn(O, M).
cudnn_alike :- t_cudnn(M), o_cudnn(M).
separate :- t_cuda(_), not cudnn_alike.
:- cudnn_alike, t_cuda(M), not o_cuda(M).

% drivers
:- drv(D), os(S), o_cuda(M), floor(S, M, F), below(D, F).
:- drv(D), os(S), t_cuda(M), floor(S, M, F), below(D, F).
:- drv(D), cc(C), first_cuda(C, K), native(D, N), N < K.
:- drv(D), cc(C), last_branch(C, L), branch(D, B), B > L.
:- drv(D), cc(C), C < 75, branch(D, B), B >= 590.

% GPU code
cubin :- ort(O), plat(P), cc(C), ort_cubin(O, P, C).
ptx :- ort(O), plat(P), cc(C), ort_ptx(O, P, C), ptx_known.
ptx_known :- ort(O), plat(P), ptx_cuda(O, P, K), drv(D), native(D, N), N >= K.
:- not cubin, not ptx.
:- t_cuda(_), torch(T), plat(P), cc(C), torch_read(T, P), not torch_cubin(T, P, C).

% cuDNN and GPUs
:- o_cudnn(8), cc(C), C >= 100.
:- t_cuda(_), not separate, torch(T), plat(P), torch_pin(T, P, V), cc(C), C < 75, V >= 911.
:- t_cuda(_), not separate, torch(T), plat(P), torch_pin(T, P, V), cc(C), C >= 100, V < 907.

% numpy
asks(S) :- ort(O), plat(P), py(Y), ort_numpy(O, P, Y, S).
:- asks(S), np(N), not accepts(S, N).
:- ort(O), abi(O, 1), np(N), numpy_2(N).
:- np(N), plat(P), py(Y), not numpy_py(N, P, Y).

#show ort/1.
