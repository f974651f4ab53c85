/* replay.c: the program that runs a fuzz target over files and folders without a fuzzer: the unit test over its corpus.
 *
 *     heap_fuzz_test FOLDER|FILE ...
 *
 * Ends with 1 when there is nothing to run: an empty corpus proves nothing. */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { LONGEST_INPUT = 65536 };
static unsigned long inputs;
static const char *current = "";

static void run_file(const char *path) {
    static uint8_t buffer[LONGEST_INPUT];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s can't be read\n", path);
        exit(1);
    }
    size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    /* Of the right size, so that a sanitizer sees who reads behind the end. */
    uint8_t *data = malloc(size + 1);
    if (data == NULL) abort();
    memcpy(data, buffer, size);
    current = path;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

static void run_folder(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        run_file(name);
    }
    if (folder != NULL) closedir(folder);
}

/* The target's message stands above it. */
static void on_abort(int signal_number) {
    (void)signal_number;
    static const char lead[] = "the input: ";
    ssize_t written = write(STDERR_FILENO, lead, sizeof lead - 1);
    written = write(STDERR_FILENO, current, strlen(current));
    written = write(STDERR_FILENO, "\n", 1);
    (void)written;
}

int main(int argc, char **argv) {
    signal(SIGABRT, on_abort);
    alarm(120); /* a target that hangs is a failure */
    for (int index = 1; index < argc; index++) {
        struct stat status;
        if (stat(argv[index], &status) == 0 && S_ISDIR(status.st_mode)) run_folder(argv[index]);
        else run_file(argv[index]);
    }
    printf("%lu inputs\n", inputs);
    if (inputs == 0) fprintf(stderr, "there is no input\n");
    return inputs == 0;
}
