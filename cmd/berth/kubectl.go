package main

import (
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	componentcli "k8s.io/component-base/cli"
	"k8s.io/klog/v2"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/berthproject/berth/internal/cli"
)

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl ...",
		Short: "Run kubectl",
		Long: `Runs the unmodified kubectl, with its plugins in PATH. Without --kubeconfig and
KUBECONFIG it uses the cluster of berth up.`,
		Example: `  berth kubectl get pods -o wide
  berth kubectl apply -f examples/pods.yaml
  berth kubectl --kubeconfig ~/.kube/config get nodes`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return runKubectl(args)
		},
	}
}

func runKubectl(args []string) error {
	flags, err := kubectlConfigFlags(args)
	if err != nil {
		return err
	}
	root := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	overrideVersionCommand(root, flags, os.Stdout)
	root.SetArgs(args)
	// kubectl handles signals, logs, errors and exit codes itself.
	signal.Reset(terminationSignals()...)
	klog.LogToStderr(true)
	cmdutil.CheckErr(componentcli.RunNoErrOutput(root))
	return nil
}

// kubectlConfigFlags returns kubectl's flags for a cluster. Without --kubeconfig and
// KUBECONFIG the default is the cluster of `berth up`.
func kubectlConfigFlags(args []string) (*genericclioptions.ConfigFlags, error) {
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	if hasKubeconfigFlag(args) || cli.HasKubeconfigEnv() || !needsCluster(args) {
		return flags, nil
	}
	file, err := cli.DefaultKubeconfig()
	if err != nil {
		return nil, err
	}
	flags.KubeConfig = &file
	return flags, os.Setenv(clientcmd.RecommendedConfigPathEnvVar, file) // for plugins
}

func hasKubeconfigFlag(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--kubeconfig" || strings.HasPrefix(a, "--kubeconfig=") })
}

// needsCluster reports whether a kubectl command sends requests to a cluster.
func needsCluster(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return false
	}
	if args[0] == "version" && slices.Contains(args, "--client") {
		return false
	}
	return !slices.Contains([]string{"help", "completion", "options", "kustomize", "plugin"}, args[0])
}
