package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berthproject/berth/parity/process"
)

// The duration of a scenario in each mode, and the time at its end in which planned mode must not evict.
const (
	plannedFor    = 25 * time.Second
	compatibleFor = 10 * time.Second
	finalPeriod   = 10 * time.Second
)

// runDescheduler runs berth descheduler, with the permissions of deploy/descheduler.yaml, next to the real
// kube-scheduler, which supports no Holds. Replacements come from berth controller's ReplicaSet controller.
func (c *cluster) runDescheduler(ctx context.Context, f *findings, berth, module string) error {
	if err := c.clear(ctx); err != nil {
		return err
	}
	admin, err := c.kubeconfig("admin", &api.AuthInfo{ClientCertificate: c.authority.file("admin.crt"), ClientKey: c.authority.file("admin.key")})
	if err != nil {
		return err
	}
	kubeScheduler, err := process.Build(ctx, ".", "k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler", process.KubeVersionFlags)
	if err != nil {
		return err
	}
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(ctx, kubeScheduler, "--kubeconfig", admin, "--leader-elect=false", "--secure-port=0"),
		exec.CommandContext(ctx, berth, "controller", "replicaset", "disruption", "--kubeconfig", admin, "--metrics-bind-address=", "--leader-elect-resource-name=parity"),
	} {
		p, err := process.Start(cmd)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, p)
	}
	d, err := c.deploy(ctx, filepath.Join(module, "deploy", "descheduler.yaml"))
	if err != nil {
		return err
	}
	kubeconfig, err := c.credential(ctx, d, "descheduler")
	if err != nil {
		return err
	}
	fmt.Println("berth descheduler with the real kube-scheduler: evictions, and how many pods returned to their node")
	for _, g := range scenarios() {
		policy := filepath.Join(module, "sim", "thrashing", "testdata", g.policy)
		planned, err := c.runScenario(ctx, f, g, plannedFor, berth, "--policy-config-file", policy, "--kubeconfig", kubeconfig)
		if err != nil {
			return err
		}
		compatible, err := c.runScenario(ctx, f, g, compatibleFor, berth, "--policy-config-file", policy, "--kubeconfig", kubeconfig, "--mode=compatible")
		if err != nil {
			return err
		}
		fmt.Printf("  %-9s planned %d, %d returned; compatible %d, %d returned (%v)\n", g.name, planned.evictions, planned.returned, compatible.evictions, compatible.returned, compatibleFor)
		if planned.returned > 0 || planned.late > 0 {
			f.errorf("%s: planned mode: %d evictions whose pod returned, %d in the last %v, want none", g.name, planned.returned, planned.late, finalPeriod)
		}
		if g.expectMoves && planned.evictions == 0 {
			f.errorf("%s: planned mode moves no pod, want at least one", g.name)
		}
		if g.expectThrashing && compatible.returned == 0 {
			f.errorf("%s: in compatible mode no pod returned, want at least one", g.name)
		}
	}
	return nil
}

// score is the result of a scenario.
type score struct {
	evictions int
	returned  int // evictions whose pod returned to its node
	late      int // evictions in the final period
}

func (c *cluster) runScenario(ctx context.Context, f *findings, g scenario, d time.Duration, berth string, args ...string) (score, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t, err := c.newScenarioRun(ctx)
	if err != nil {
		return score{}, err
	}
	if err := g.setUp(ctx, t); err != nil {
		return score{}, errors.Join(err, c.clear(context.WithoutCancel(ctx)))
	}
	p, err := process.Start(exec.CommandContext(ctx, berth, append([]string{"descheduler", "--interval=1s", "--secure-port=0", "--leader-elect=false"}, args...)...))
	if err != nil {
		return score{}, err
	}
	time.Sleep(d)
	if p.Exited() || p.HasOutput("orbidden") {
		f.errorf("%s: output of the descheduler: %s", g.name, p.Tail())
	}
	if !slices.Contains(args, "--mode=compatible") && !p.HasOutput("nodes are not reserved") {
		f.errorf("%s: the report does not state that nodes are not reserved: %s", g.name, p.Tail())
	}
	p.Stop()
	out := t.score(time.Now().Add(-finalPeriod))
	stop()
	return out, c.clear(context.WithoutCancel(ctx))
}

// clear removes all replica sets, budgets, pods and nodes.
func (c *cluster) clear(ctx context.Context) error {
	var all metav1.ListOptions
	immediately := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	err := errors.Join(c.client.AppsV1().ReplicaSets("default").DeleteCollection(ctx, immediately, all),
		c.client.PolicyV1().PodDisruptionBudgets("default").DeleteCollection(ctx, immediately, all))
	for range 50 { // a replica set that was deleted may have created one more pod
		list, e := c.client.CoreV1().Pods("default").List(ctx, all)
		if err = errors.Join(err, e); err != nil || len(list.Items) == 0 {
			break
		}
		err = c.client.CoreV1().Pods("default").DeleteCollection(ctx, immediately, all)
		time.Sleep(200 * time.Millisecond)
	}
	return errors.Join(err, c.client.CoreV1().Nodes().DeleteCollection(ctx, immediately, all))
}
