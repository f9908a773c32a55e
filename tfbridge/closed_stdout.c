#include "closed_stdout.h"

#include <fcntl.h>
#include <unistd.h>

static int closed;

// look runs before Go's runtime, which opens /dev/null in the place of standard streams
// that are closed.
__attribute__((constructor)) static void look(void) {
  closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
}

int mr_stdout_was_closed(void) { return closed; }
