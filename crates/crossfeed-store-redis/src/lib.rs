//! Keeps results and artifacts in Redis or Valkey, for any number of processes.
