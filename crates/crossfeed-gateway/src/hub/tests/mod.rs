mod fake;
mod one_server;
mod restart;
mod several_servers;
mod tools;
