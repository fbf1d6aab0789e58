package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

type demoCluster struct {
	config *rest.Config // of an administrator
	// credential returns a client configuration for an identity; nil if the CA key is not on
	// this machine.
	credential func(pki.Identity) (*rest.Config, error)
}

// discoveryTimeout bounds the version request to an existing cluster.
const discoveryTimeout = 5 * time.Second

// findCluster returns the running cluster, or nil if there is none.
func (f *demoFlags) findCluster() (*demoCluster, error) {
	config, err := cli.ClientConfig(f.kubeconfig, "berth-demo")
	if err != nil {
		if f.kubeconfig == "" {
			return nil, nil
		}
		return nil, err
	}
	config.Burst, config.QPS = -1, -1
	info, err := clusterVersion(config)
	switch {
	case err != nil && f.kubeconfig == "" && errors.Is(err, syscall.ECONNREFUSED):
		return nil, nil
	case err != nil:
		return nil, err
	case !strings.HasSuffix(info.GitVersion, "+berth"):
		return nil, fmt.Errorf("the cluster at %s (%s) is not Berth's: the demo fills nodes and evicts pods, so it runs on Berth clusters only; without --kubeconfig it can start a temporary cluster", config.Host, info.GitVersion)
	}
	target := &demoCluster{config: config}
	dir := (&cli.Cluster{Kubeconfig: f.kubeconfig}).Dir()
	if _, err := os.Stat(filepath.Join(dir, "pki", "ca.key")); err == nil {
		target.credential = func(id pki.Identity) (*rest.Config, error) {
			text, err := newKubeconfig(dir, id)
			if err != nil {
				return nil, err
			}
			return clientcmd.RESTConfigFromKubeConfig(text)
		}
	}
	return target, nil
}

func clusterVersion(config *rest.Config) (*apimachineryversion.Info, error) {
	config = rest.CopyConfig(config)
	config.Timeout = discoveryTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.ServerVersion()
}

// startDemoCluster starts a control plane without nodes.
func startDemoCluster(group *rungroup.Group, dir string, loaded settings.Settings, log *logFile) (*demoCluster, error) {
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", dir
	localcluster.ApplySettings(&o, loaded, nil)
	server, err := apiserver.New(group.Ctx, o)
	if err != nil {
		return nil, err
	}
	if err := localcluster.StartServer(group, server); err != nil {
		return nil, err
	}
	output := upOutput{w: io.Discard}
	if err := output.listen(); err != nil {
		return nil, err
	}
	plane := localcluster.ControlPlane{Settings: loaded, SchedulerListener: output.schedulerListener, ControllersListener: output.controllersListener, Log: log.slog}
	if err := plane.Start(group, server); err != nil {
		return nil, err
	}
	config, err := cli.ClientConfig(server.KubeconfigPath(), "berth-demo")
	if err != nil {
		return nil, err
	}
	config.Burst, config.QPS = -1, -1
	return &demoCluster{config: config, credential: func(id pki.Identity) (*rest.Config, error) {
		cert, key, err := server.Authority().ClientPEM(id)
		return &rest.Config{Host: config.Host, UserAgent: "berth-demo",
			TLSClientConfig: rest.TLSClientConfig{CAData: server.Authority().CAPEM(), CertData: cert, KeyData: key}}, err
	}}, nil
}

// demoDir is the demo's directory. Its path is fixed, so that the next demo finds and
// removes the files of a killed one.
type demoDir struct {
	path string
	lock io.Closer
}

func openDemoDir() (demoDir, error) {
	d := demoDir{path: filepath.Join(cli.DefaultDataDir(), "demo")}
	lock, err := store.Lock(d.path)
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(d.path, "lock"))
		if pid, convErr := strconv.Atoi(strings.TrimSpace(string(text))); convErr == nil && pid > 0 && syscall.Kill(pid, 0) == nil {
			return d, fmt.Errorf("another `berth demo` is running (process %d): wait for it, or stop it with Ctrl-C or kill %d", pid, pid)
		}
		return d, fmt.Errorf("opening the demo's directory: %w", err)
	}
	d.lock = lock
	return d, os.RemoveAll(d.dataDir())
}

func (d demoDir) dataDir() string  { return filepath.Join(d.path, "data") }
func (d demoDir) nodesDir() string { return filepath.Join(d.path, "nodes") }
func (d demoDir) logFile() string  { return filepath.Join(d.path, "berth.log") }

// close removes the directory. If removeLog is false, it keeps the log.
func (d demoDir) close(removeLog bool) error {
	errs := []error{os.RemoveAll(d.dataDir())}
	if removeLog {
		errs = append(errs, os.Remove(d.logFile()))
	}
	errs = append(errs, os.Remove(filepath.Join(d.path, "lock")))
	if removeLog {
		errs = append(errs, os.Remove(d.path))
		_ = os.Remove(filepath.Dir(d.path)) // only if it is empty
	}
	return errors.Join(append(errs, d.lock.Close())...)
}
