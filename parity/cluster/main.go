package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berthproject/berth/parity/process"
)

func main() {
	berth := flag.String("berth", "..", "directory of Berth's module")
	timeout := flag.Duration("timeout", 3*time.Minute, "time until all pods must be placed or rejected")
	only := flag.String("only", "", "descheduler: run only that part")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *berth, *timeout, *only == "descheduler"); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, module string, timeout time.Duration, descheduler bool) error {
	dir, err := os.MkdirTemp("", "berth-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	berth, err := process.Build(ctx, module, "./cmd/berth", "berth")
	if err != nil {
		return err
	}
	c, err := startCluster(ctx, dir)
	if err != nil {
		return err
	}
	defer c.stop()
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	fmt.Printf("kube-apiserver %s at %s\n", version.GitVersion, c.address)
	f := &findings{}
	if !descheduler {
		if err := c.runControlPlane(ctx, f, berth, module, timeout); err != nil {
			return err
		}
		c.stopBerth()
	}
	if err := c.runDescheduler(ctx, f, berth, module); err != nil {
		return err
	}
	return f.print()
}

// runControlPlane runs berth scheduler, and then berth controller, in place of the
// Kubernetes components.
func (c *cluster) runControlPlane(ctx context.Context, f *findings, berth, module string, timeout time.Duration) error {
	deployed, err := c.deploy(ctx, filepath.Join(module, "deploy", "scheduler.yaml"))
	if err != nil {
		return err
	}
	if err := c.createObjects(ctx); err != nil {
		return err
	}
	controllers := c.startFakeControllers(ctx)
	p, err := c.schedule(ctx, berth, deployed)
	if err != nil {
		return err
	}
	from := time.Now()
	if err := c.createPods(ctx, timeout); err != nil {
		return errors.Join(err, fmt.Errorf("output of the scheduler: %s", p.Tail()))
	}
	fmt.Printf("%d nodes; the pods were placed or rejected %v after the first was created\n", nodes+fullNodes, time.Since(from).Round(10*time.Millisecond))
	admin, err := c.kubeconfig("admin", &api.AuthInfo{ClientCertificate: c.authority.file("admin.crt"), ClientKey: c.authority.file("admin.key")})
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // events are written later
	if err := c.check(ctx, f, controllers); err != nil {
		return err
	}
	if err := c.checkBudgetEntries(ctx, f, controllers); err != nil {
		return err
	}
	checkExplain(ctx, f, berth, admin, c.authority.file("config.yaml"))
	if p.HasOutput("forbidden") || p.Exited() {
		f.errorf("output of the scheduler: %s", p.Tail())
	}
	return c.runController(ctx, f, berth, module)
}

// createPods creates the pods and waits until each is placed or found unschedulable.
func (c *cluster) createPods(ctx context.Context, timeout time.Duration) error {
	for _, first := range []bool{true, false} {
		for _, g := range groups() {
			if g.first != first {
				continue
			}
			for i := range g.count {
				if _, err := c.client.CoreV1().Pods("default").Create(ctx, g.pod(i), metav1.CreateOptions{}); err != nil {
					return err
				}
			}
		}
		if err := c.settle(ctx, timeout); err != nil {
			return err
		}
		if first {
			if err := c.createBudget(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle waits until all existing pods are in their expected state.
func (c *cluster) settle(ctx context.Context, timeout time.Duration) error {
	for from := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		waiting, err := c.unsettledPods(ctx)
		if err != nil || len(waiting) == 0 {
			return err
		}
		if time.Since(from) > timeout {
			return fmt.Errorf("after %v %d pods are neither placed nor rejected as expected, such as %s", timeout, len(waiting), waiting[0])
		}
	}
}
