// Command berth decides where every pod of a cluster runs. Each subcommand has
// a file of its own here, with its flags and wiring and no logic; settings.go
// reads the configuration files for all of them.
//
// Exit codes: 0 done, 1 failed or refused; `berth kubectl` has kubectl's own.
package main
