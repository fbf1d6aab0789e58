package berthtest

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// Cluster is a running cluster.
type Cluster struct {
	waiter
	// Config is a client configuration of an administrator, without rate limit.
	Config *rest.Config
	// Kubeconfig is the path of the same configuration as a kubeconfig file.
	Kubeconfig string
	// Client is a client with Config.
	Client kubernetes.Interface
	// Webhook is the address at which the test must serve the webhooks of [Webhooks].
	Webhook WebhookServer

	options  *options
	settings settings.Settings
	dir      string
	server   *apiserver.Server
	group    *rungroup.Group
	nodes    *localcluster.SimulatedNodes

	mu     sync.Mutex
	agents map[string]*nodeAgent // by node name
}

// Start starts a cluster and returns when its nodes accept pods. The cluster ends with the test. Start
// fails the test if the cluster does not start, and the test fails later if a component stops.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	o, err := newOptions(opts)
	if err != nil {
		t.Fatalf("berthtest: %v", err)
	}
	discardLogs()
	c := &Cluster{waiter: waiter{t: t, timeout: o.timeout, wait: waitInterval}, options: o, dir: t.TempDir(), agents: map[string]*nodeAgent{}}
	if c.settings, err = newSettings(); err != nil {
		t.Fatalf("berthtest: %v", err)
	}
	c.settings.Inputs = o.inputs
	ctx, cancel := context.WithCancel(context.Background())
	started, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		stopped <- rungroup.Run(ctx, func(group *rungroup.Group) error {
			if err := c.start(group); err != nil {
				return err
			}
			close(started)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("berthtest: %v", err)
		}
	})
	select {
	case <-started:
	case err := <-stopped:
		stopped <- nil
		t.Fatalf("berthtest: starting the cluster: %v", err)
	case <-time.After(o.timeout):
		t.Fatalf("berthtest: the cluster did not start within %v", o.timeout)
	}
	return c
}

// start starts the components and blocks until the cluster is usable.
func (c *Cluster) start(group *rungroup.Group) (err error) {
	c.group = group
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", c.dir
	localcluster.ApplySettings(&o, c.settings, nil)
	if c.server, err = apiserver.New(group.Ctx, o); err != nil {
		return err
	}
	if err := localcluster.StartServer(group, c.server); err != nil {
		return err
	}
	if err := (localcluster.ControlPlane{Settings: c.settings}).Start(group, c.server); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if c.nodes, err = localcluster.NewSimulatedNodes(c.server, c.settings); err != nil {
		return err
	}
	c.nodes.Adopt(group, nil)
	for _, n := range c.options.nodes {
		c.startAgent(n)
	}
	if err := localcluster.StartDefaultStorage(group, c.server.LoopbackConfig(), c.dir); err != nil {
		return err
	}
	if err := c.createCRDs(group.Ctx); err != nil {
		return err
	}
	if _, err := localnodes.WaitForNodes(group.Ctx, c.server.LoopbackConfig(), c.options.nodes, nil); err != nil {
		return err
	}
	if err := c.waitForServiceAccount(group.Ctx); err != nil {
		return err
	}
	return c.createWebhooks(group.Ctx)
}

func (c *Cluster) connect() (err error) {
	c.Kubeconfig = c.server.KubeconfigPath()
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS = -1 // the server limits requests
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	c.dynamic, err = dynamic.NewForConfig(c.Config)
	return err
}

// waitForServiceAccount waits for the account that pods in the default namespace need.
func (c *Cluster) waitForServiceAccount(ctx context.Context) error {
	return c.poll(ctx, func(ctx context.Context) error {
		_, err := c.Client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
