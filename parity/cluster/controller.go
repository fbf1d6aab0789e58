package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berthproject/berth/parity/process"
)

// controllerConfig shortens the grace period of nodes, so that the check takes seconds.
const controllerConfig = `apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
nodeLifecycle: {gracePeriodSeconds: 10, startupGraceSeconds: 5, monitorPeriodSeconds: 1, evictionRate: 10}
`

// runController runs the controllers of deploy/controller.yaml without a
// kube-controller-manager and checks their effects.
func (c *cluster) runController(ctx context.Context, f *findings, berth, module string) error {
	d, err := c.deploy(ctx, filepath.Join(module, "deploy", "controller.yaml"))
	if err != nil {
		return err
	}
	kubeconfig, err := c.credential(ctx, d, "controller")
	if err != nil {
		return err
	}
	if err := c.checkRefusals(ctx, f, berth, kubeconfig); err != nil {
		return err
	}
	controllersCtx, stop := context.WithCancel(ctx)
	defer stop()
	if err := c.renewNodeLeases(controllersCtx); err != nil {
		return err
	}
	reasons := c.watchReasons(controllersCtx)
	if err := c.createSilentNode(ctx); err != nil {
		return err
	}
	config := c.authority.file("berth.yaml")
	if err := os.WriteFile(config, []byte(controllerConfig), 0o600); err != nil {
		return err
	}
	p, err := process.Start(exec.CommandContext(ctx, berth, append(d.args, "--kubeconfig", kubeconfig, "--config", config)...))
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	if err := p.WaitUntil(ctx, func() bool { return p.HasOutput("Controllers at") }); err != nil {
		return err
	}
	for _, check := range []func(context.Context, *findings, *disruptionReasons) error{c.checkBudgets, c.checkSilentNode, c.checkTaintedNode} {
		if err := check(ctx, f, reasons); err != nil {
			return err
		}
	}
	if p.HasOutput("orbidden") || p.Exited() {
		f.errorf("output of the controllers: %s", p.Tail())
	}
	return nil
}

// credential writes a kubeconfig for the deployed service account.
func (c *cluster) credential(ctx context.Context, d *deployed, name string) (string, error) {
	token, err := c.client.CoreV1().ServiceAccounts(d.namespace).CreateToken(ctx, d.account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return c.kubeconfig(name, &api.AuthInfo{Token: token.Status.Token})
}

// checkRefusals checks that berth controller starts nothing next to a valid Lease of
// kube-controller-manager.
func (c *cluster) checkRefusals(ctx context.Context, f *findings, berth, kubeconfig string) error {
	leases, name := c.client.CoordinationV1().Leases("kube-system"), "kube-controller-manager"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("parity_1"), LeaseDurationSeconds: new(int32(60)), RenewTime: new(metav1.NowMicro())}}
	if _, err := leases.Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return err
	}
	for args, want := range map[string]string{
		"":                                "name the controllers to run",
		"disruption taints nodelifecycle": "--controllers=*,-disruption-controller,-taint-eviction-controller,-node-lifecycle-controller",
		"disruption taints --upstream-off=taints": "--controllers=*,-disruption-controller, and then this with --upstream-off=disruption",
	} {
		cmd := exec.CommandContext(ctx, berth, append(append([]string{"controller"}, strings.Fields(args)...), "--kubeconfig", kubeconfig)...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), want) {
			f.errorf("berth controller %s with a valid Lease: code %d, want 2 and %q: %s", args, code, want, out)
			continue
		}
		fmt.Printf("berth controller %s: refused: %s", args, out)
	}
	return leases.Delete(ctx, name, metav1.DeleteOptions{})
}

// renewNodeLeases renews the Leases of all current nodes until ctx ends.
func (c *cluster) renewNodeLeases(ctx context.Context) error {
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	leases := c.client.CoordinationV1().Leases("kube-node-lease")
	var renewed []*coordinationv1.Lease
	for i := range list.Items {
		l, err := leases.Create(ctx, nodeLease(list.Items[i].Name), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		renewed = append(renewed, l)
	}
	go func() {
		for ctx.Err() == nil {
			for i, l := range renewed {
				l.Spec.RenewTime = new(metav1.NowMicro())
				updated, err := leases.Update(ctx, l, metav1.UpdateOptions{})
				if err != nil {
					if ctx.Err() == nil {
						fmt.Fprintln(os.Stderr, "cluster: renewing the Lease of node "+l.Name+":", err)
					}
					continue
				}
				renewed[i] = updated
			}
			time.Sleep(2 * time.Second)
		}
	}()
	return nil
}

func nodeLease(node string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: node}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new(node), LeaseDurationSeconds: new(int32(40)), RenewTime: new(metav1.NowMicro())}}
}
