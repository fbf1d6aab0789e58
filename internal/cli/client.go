package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
)

// ClientConfig returns the client configuration of a kubeconfig. Without one it uses
// KUBECONFIG, then the cluster of the default data directory, then, in a pod, the pod's
// service account.
func ClientConfig(kubeconfig, userAgent string) (*rest.Config, error) {
	config, err := loadClientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = userAgent
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config, nil
}

func loadClientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
		}
		return config, nil
	}
	if HasKubeconfigEnv() {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("KUBECONFIG %s: %w", os.Getenv(clientcmd.RecommendedConfigPathEnvVar), err)
		}
		return config, nil
	}
	file, missingErr := DefaultKubeconfig()
	if missingErr == nil {
		return clientcmd.BuildConfigFromFlags("", file)
	}
	if config, err := rest.InClusterConfig(); err == nil {
		return config, nil
	}
	return nil, missingErr
}

// KubeconfigDir returns the directory of the kubeconfig that [ClientConfig] uses. If berth
// runs the cluster, it is the data directory.
func KubeconfigDir(kubeconfig string) string {
	if kubeconfig != "" {
		return filepath.Dir(kubeconfig)
	}
	if file := KubeconfigFromEnv(); file != "" {
		return filepath.Dir(file)
	}
	return DefaultDataDir()
}

// KubeconfigFromEnv returns the file of KUBECONFIG that has the current context, or the first one. It returns "" if the
// environment names no file.
func KubeconfigFromEnv() string {
	if !HasKubeconfigEnv() {
		return ""
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if config, err := rules.Load(); err == nil && config.Contexts[config.CurrentContext] != nil {
		return config.Contexts[config.CurrentContext].LocationOfOrigin
	}
	return rules.GetDefaultFilename()
}

// HasKubeconfigEnv reports whether the environment names a kubeconfig.
func HasKubeconfigEnv() bool { return os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" }

// KubeconfigPath returns the path of the admin kubeconfig in a data directory.
func KubeconfigPath(dataDir string) string { return filepath.Join(dataDir, "kubeconfig") }

// DefaultDataDir returns the default of --data-dir.
func DefaultDataDir() string { return apiserver.DefaultOptions().DataDir }

// DefaultKubeconfig returns the path of the admin kubeconfig in the default data directory, or an error if the file
// does not exist.
func DefaultKubeconfig() (string, error) {
	file := KubeconfigPath(DefaultDataDir())
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("no cluster in %s: start one with `berth up`, or set KUBECONFIG or --kubeconfig", DefaultDataDir())
	}
	return file, nil
}

// Impersonate returns a copy of config that acts as another user, with the user agent user. Components in one process
// use it, so that each has only the permissions of its role.
func Impersonate(config *rest.Config, user string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	config.UserAgent = user
	return config
}
