package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ExactlyOneArg demands one name.
func ExactlyOneArg(command, what, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: %d names given: want one %s, e.g. berth %s %s", command, len(args), what, command, example)
		}
		return nil
	}
}

// AtLeastOneArg demands names.
func AtLeastOneArg(command, what, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: no %s named: want one or more, e.g. berth %s %s", command, what, command, example)
		}
		return nil
	}
}

// OnePodArg demands one NAMESPACE/NAME, or NAME.
func OnePodArg(command string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := ExactlyOneArg(command, "pod", "default/web-1")(cmd, args); err != nil {
			return err
		}
		if namespace, name := SplitPodName(args[0]); namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%s: %q: want NAMESPACE/NAME, or NAME of a pod of namespace default, e.g. berth %s default/web-1", command, args[0], command)
		}
		return nil
	}
}

// SplitPodName splits NAMESPACE/NAME; without a namespace it is the default one.
func SplitPodName(arg string) (namespace, name string) {
	if namespace, name, both := strings.Cut(arg, "/"); both {
		return namespace, name
	}
	return "default", arg
}
