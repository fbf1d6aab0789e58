package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/internal/cli"
)

const (
	// pluginName is the name of the binary as a kubectl plugin: kubectl runs it for `kubectl berth`.
	pluginName = "kubectl-berth"
	// pluginCompletionName is the program that kubectl runs to complete the arguments of `kubectl berth`.
	pluginCompletionName = "kubectl_complete-berth"
	// pluginCommand is what a user of the plugin types.
	pluginCommand = "kubectl berth"
)

// programCommand returns the root command for the name that the binary was started with.
func programCommand(path string, args []string) *cobra.Command {
	root := rootCommand()
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if name != pluginName && name != pluginCompletionName {
		return root
	}
	useKubectlConfig()
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginCommand}
	rewriteExamples(root)
	// The script that `completion` prints is for a program, not for a plugin.
	root.CompletionOptions.DisableDefaultCmd = true
	if completion, _, err := root.Find([]string{"completion"}); err == nil && completion != root {
		root.RemoveCommand(completion)
	}
	if name == pluginCompletionName {
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	}
	return root
}

// useKubectlConfig selects the kubeconfig that kubectl uses by default, before the cluster of `berth up`.
func useKubectlConfig() {
	if cli.HasKubeconfigEnv() {
		return
	}
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err == nil {
		_ = os.Setenv(clientcmd.RecommendedConfigPathEnvVar, clientcmd.RecommendedHomeFile)
	}
}

// rewriteExamples makes the examples of a command and its subcommands start with the plugin's command.
func rewriteExamples(cmd *cobra.Command) {
	lines := strings.Split(cmd.Example, "\n")
	for i, line := range lines {
		if arguments, found := strings.CutPrefix(line, "  berth "); found {
			lines[i] = "  " + pluginCommand + " " + arguments
		}
	}
	cmd.Example = strings.Join(lines, "\n")
	for _, c := range cmd.Commands() {
		rewriteExamples(c)
	}
}
