// The library that is opened first.
int shared_variable __attribute__((weak)) = 1;  // second.c has one as well
int only_first = 10;

int shared_function(void) { return 100; }  // and one of these
int first_calls(void) { return shared_function() + only_first; }

// What libstdc++ could define.
int _ZNSt7__cxx11standard(void) { return 7; }
int (*first_standard)(void) = _ZNSt7__cxx11standard;
