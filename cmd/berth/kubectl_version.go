package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	kubectlversion "k8s.io/kubectl/pkg/cmd/version"
	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/apiserver"
)

// overrideVersionCommand replaces kubectl's version command, whose version is set by
// linker flags that `go run` and `go install` do not pass.
func overrideVersionCommand(root *cobra.Command, flags *genericclioptions.ConfigFlags, out io.Writer) {
	cmd, _, err := root.Find([]string{"version"})
	if err != nil || cmd.Name() != "version" {
		return
	}
	cmd.Run = nil
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := kubectlversion.Version{ClientVersion: clientVersion()}
		v.KustomizeVersion, _ = kubectlversion.GetKustomizeModVersion()
		clientOnly, _ := cmd.Flags().GetBool("client")
		output, _ := cmd.Flags().GetString("output")
		var serverErr error
		if !clientOnly {
			v.ServerVersion, serverErr = serverVersion(flags)
		}
		if err := printVersion(out, v, output); err != nil {
			return err
		}
		return serverErr
	}
}

func clientVersion() *apimachineryversion.Info {
	major, remainder, _ := strings.Cut(strings.TrimPrefix(apiserver.KubernetesVersion, "v"), ".")
	minor, _, _ := strings.Cut(remainder, ".")
	return &apimachineryversion.Info{
		Major: major, Minor: minor, GitVersion: apiserver.KubernetesVersion,
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func serverVersion(flags *genericclioptions.ConfigFlags) (*apimachineryversion.Info, error) {
	client, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	client.Invalidate() // the cached answer may be from another server
	return client.ServerVersion()
}

func printVersion(out io.Writer, v kubectlversion.Version, output string) error {
	switch output {
	case "":
		fmt.Fprintf(out, "Client Version: %s\nKustomize Version: %s\n", v.ClientVersion.GitVersion, v.KustomizeVersion)
		if v.ServerVersion != nil {
			fmt.Fprintf(out, "Server Version: %s\n", v.ServerVersion.GitVersion)
		}
		return nil
	case "yaml":
		data, err := yaml.Marshal(&v)
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(&v)
	}
	return fmt.Errorf("--output %q: must be yaml or json", output)
}
