mod eras;
mod fake;
mod laws;
mod one_server;
mod restart;
mod several_servers;
mod tools;
