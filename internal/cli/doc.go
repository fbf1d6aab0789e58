// Package cli contains what the subcommands of berth share: positional arguments, flag
// errors, exit codes, client configuration, permission checks at startup, and progress bars.
package cli
