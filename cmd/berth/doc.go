// Command berth is a Kubernetes scheduler, API server, node agent, controllers and
// descheduler in one binary.
//
// Each subcommand has a file with its flags and wiring. Shared code is in internal/cli;
// internal/settings loads the configuration files of all subcommands.
// internal/cli/exit_codes.go lists the exit codes.
package main
