package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
)

// Cluster selects the cluster of a client command, as kubectl does. It uses --kubeconfig, else KUBECONFIG, else the
// cluster of `berth up`. In a kubeconfig it uses --context, else the current context.
type Cluster struct{ Kubeconfig, Context string }

// AddFlags adds --kubeconfig and --context.
func (c *Cluster) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: KUBECONFIG, else the cluster of berth up)")
	f.StringVar(&c.Context, "context", "", "context of the kubeconfig (default: the current one)")
}

// Config returns the client configuration of the cluster. Without a kubeconfig, a pod uses its service account.
func (c *Cluster) Config(userAgent string) (*rest.Config, error) {
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	config.UserAgent = userAgent
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config, nil
}

func (c *Cluster) load() (*rest.Config, error) {
	loader, source, err := c.loader()
	if err != nil {
		if config, podErr := rest.InClusterConfig(); podErr == nil {
			return config, nil
		}
		return nil, err
	}
	if contexts := c.Contexts(); c.Context != "" && len(contexts) > 0 && !slices.Contains(contexts, c.Context) {
		return nil, fmt.Errorf("%s: --context %q: must be one of %s", source, c.Context, strings.Join(contexts, ", "))
	}
	_, rawErr := loader.RawConfig()
	config, err := loader.ClientConfig()
	pathErr := (*fs.PathError)(nil)
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("%s: no kubeconfig: the file must exist and contain a cluster", source)
	case errors.As(err, &pathErr):
		return nil, fmt.Errorf("%s: %w", source, pathErr.Err)
	case rawErr != nil:
		return nil, fmt.Errorf("%s: must be a kubeconfig (apiVersion v1, kind Config): %w", source, rawErr)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return config, nil
}

// loader returns the kubeconfig of the cluster, and how the user selected it.
func (c *Cluster) loader() (loader clientcmd.ClientConfig, source string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	switch {
	case c.Kubeconfig != "":
		rules.ExplicitPath, source = c.Kubeconfig, "--kubeconfig "+c.Kubeconfig
	case HasKubeconfigEnv():
		source = "KUBECONFIG " + os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	default:
		if rules.ExplicitPath, err = DefaultKubeconfig(); err != nil {
			return nil, "", err
		}
		source = rules.ExplicitPath
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}), source, nil
}

// Namespace returns the namespace of the context.
func (c *Cluster) Namespace() string {
	loader, _, err := c.loader()
	if err != nil {
		return metav1.NamespaceDefault // the client reports the error
	}
	namespace, _, err := loader.Namespace()
	if err != nil || namespace == "" {
		return metav1.NamespaceDefault
	}
	return namespace
}

// Contexts returns the names of the contexts of the kubeconfig, in order.
func (c *Cluster) Contexts() []string {
	loader, _, err := c.loader()
	if err != nil {
		return nil
	}
	config, err := loader.RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// Dir returns the directory of the kubeconfig. If berth runs the cluster, it is the data directory.
func (c *Cluster) Dir() string {
	if c.Kubeconfig != "" {
		return filepath.Dir(c.Kubeconfig)
	}
	if file := c.fileFromEnv(); file != "" {
		return filepath.Dir(file)
	}
	return DefaultDataDir()
}

// fileFromEnv returns the file of KUBECONFIG that has the context, or the first one. It returns "" if the environment
// names no file.
func (c *Cluster) fileFromEnv() string {
	if !HasKubeconfigEnv() {
		return ""
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := rules.Load()
	if err != nil {
		return rules.GetDefaultFilename()
	}
	name := c.Context
	if name == "" {
		name = config.CurrentContext
	}
	if config.Contexts[name] == nil {
		return rules.GetDefaultFilename()
	}
	return config.Contexts[name].LocationOfOrigin
}

// ClientConfig returns the client configuration of a component: of its kubeconfig, if it has one, else as [Cluster.Config].
func ClientConfig(kubeconfig, userAgent string) (*rest.Config, error) {
	return (&Cluster{Kubeconfig: kubeconfig}).Config(userAgent)
}

// KubeconfigFromEnv returns the file of KUBECONFIG that has the current context, or the first one. It returns "" if the
// environment names no file.
func KubeconfigFromEnv() string { return (&Cluster{}).fileFromEnv() }

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
