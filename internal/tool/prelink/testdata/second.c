// The library that is opened second.
#include <stdlib.h>

int shared_variable __attribute__((weak)) = 2;
extern int only_first;
extern int only_missing __attribute__((weak));

int shared_function(void) { return 200; }
int own_function(void) { return 3000; }
int numbers[4] = {1, 2, 3, 4};
__thread int of_thread = 5;

static int chosen(void) { return 6; }
static int (*choose(void))(void) { return chosen; }
int chooses(void) __attribute__((ifunc("choose")));

// Pointers in data, with and without a distance.
int (*calls[])(void) = {shared_function, own_function, chooses};
int *places[] = {&shared_variable, &only_first, &numbers[0], &numbers[3], &only_missing};
void *(*allocate)(size_t) = malloc;

// References of code: to functions and to variables.
int second_calls(void) { return shared_function() + own_function() + chooses(); }
int second_reads(void) { return shared_variable + only_first + numbers[2] + of_thread; }
