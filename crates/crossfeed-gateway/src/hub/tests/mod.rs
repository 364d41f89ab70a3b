mod fake;
mod one_server;
