// A file that imports this has a process of its own: test/processes.ts.
