package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exactlyOneArg demands one name.
func exactlyOneArg(command, what, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: %d names given: want one %s, e.g. berth %s %s", command, len(args), what, command, example)
		}
		return nil
	}
}

// atLeastOneArg demands names.
func atLeastOneArg(command, what, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: no %s named: want one or more, e.g. berth %s %s", command, what, command, example)
		}
		return nil
	}
}

// onePodArg demands one NAMESPACE/NAME, or NAME.
func onePodArg(command string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := exactlyOneArg(command, "pod", "default/web-1")(cmd, args); err != nil {
			return err
		}
		if namespace, name := splitPodName(args[0]); namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%s: %q: want NAMESPACE/NAME, or NAME of a pod of namespace default, e.g. berth %s default/web-1", command, args[0], command)
		}
		return nil
	}
}

// splitPodName splits NAMESPACE/NAME; without a namespace it is the default one.
func splitPodName(arg string) (namespace, name string) {
	if namespace, name, both := strings.Cut(arg, "/"); both {
		return namespace, name
	}
	return "default", arg
}
