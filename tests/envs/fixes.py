"""Apply the fix of the first finding in a copy of the environment, and look again."""
