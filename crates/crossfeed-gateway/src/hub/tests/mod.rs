mod eras;
mod fake;
mod figures;
mod laws;
mod one_server;
mod restart;
mod several_servers;
mod tools;
