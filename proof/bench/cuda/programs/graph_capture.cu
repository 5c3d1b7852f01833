// The parts replay and update of the example graph_capture, in C++.
#include "graph_replay.h"
#include "graph_update.h"

int main(int count, char** arguments) {
    const Program program(count, arguments);
    if (program.runs("replay")) replay(program);
    if (program.runs("update")) update(program);
    return 0;
}
