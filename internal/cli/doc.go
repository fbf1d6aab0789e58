// Package cli holds what the subcommands of berth share on the command line:
// positional arguments, flag errors, exit codes, client configuration, permission
// checks before a component starts, and progress bars.
package cli
