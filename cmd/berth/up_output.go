package main

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/settings"
)

// upOutput opens the metrics listeners of the components and prints the addresses of a started cluster.
type upOutput struct {
	w                                      io.Writer
	schedulerListener, controllersListener net.Listener // metrics listeners
	page                                   net.Addr     // of the web page; nil: none
}

// listen opens the ports of kube-scheduler and kube-controller-manager or, if they are
// taken, other ports.
func (l *upOutput) listen() (err error) {
	if l.schedulerListener, err = componentserver.ListenOrAnyPort(controllermanager.SchedulerAddress); err != nil {
		return err
	}
	l.controllersListener, err = componentserver.ListenOrAnyPort(controllermanager.ControllerAddress)
	return err
}

func (l upOutput) printStarted(o *upOptions, settings settings.Settings, server *apiserver.Server, nodes []*corev1.Node, otherNodes int, duration time.Duration) {
	storage := "data in " + o.server.DataDir
	if o.ephemeral {
		storage = "no data is kept"
	}
	if len(o.server.EtcdServers) > 0 {
		storage = "data in etcd at " + strings.Join(o.server.EtcdServers, ", ")
	}
	var profiles []string
	for _, p := range settings.Scheduler.Profiles {
		profiles = append(profiles, p.Name)
	}
	fmt.Fprintf(l.w, "Berth is up after %.1f s\n", duration.Seconds())
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "  API server\thttps://%s\t%s\n", server.Address(), storage)
	if l.page != nil {
		fmt.Fprintf(t, "  web page\thttps://%s/ui/\tsign in with a bearer token, or run berth ui\n", l.page)
	}
	fmt.Fprintf(t, "  scheduler\t%s\tseed %d\n", strings.Join(profiles, ", "), settings.Berth.Scheduler.Seed)
	fmt.Fprintf(t, "  \thttps://%s\tmetrics, /debug/queue\n", l.schedulerListener.Addr())
	fmt.Fprintf(t, "  controllers\t%d controllers\tnodes, taints, budgets, workloads, endpoints, volumes, records\n", len(controllermanager.Controllers))
	fmt.Fprintf(t, "  \thttps://%s\tmetrics\n", l.controllersListener.Addr())
	if o.descheduler.policyFile != "" {
		fmt.Fprintf(t, "  descheduler\tevery %v\t%s\n", o.descheduler.interval, o.descheduler.policyFile)
	}
	l.printNodes(t, o, nodes)
	fmt.Fprintf(t, "  kubeconfig\t%s\t\n", server.KubeconfigPath())
	_ = t.Flush()
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(l.w, strings.TrimRight(line, " \n"))
	}
	if otherNodes > 0 {
		fmt.Fprintf(l.w, "\nThe cluster has %d more nodes, of an earlier start or with separate agents. Pods on nodes\nwithout an agent do not start: delete these nodes, or start with them again.\n", otherNodes)
	}
	fmt.Fprintf(l.w, "\nNext, in another terminal:\n\n  export KUBECONFIG=%s\n  berth kubectl %s\n\nPress Ctrl-C to stop.\n",
		shellQuote(server.KubeconfigPath()), o.local.nextCommand())
}

// nextCommand returns the arguments of a kubectl command to try first. It needs no file,
// and no image that a node would have to pull.
func (f *upLocalNodes) nextCommand() string {
	switch {
	case f.embedded.realNode || f.embedded.virtualNodes:
		return "run web --image berth.dev/workload:1 -- -listen=:80"
	case f.realNode:
		return "get nodes"
	case f.enabled():
		return "run idle --image berth.dev/pause:1"
	}
	return "create deployment web --image web --replicas 3" // simulated nodes pull no images
}

// plainPath matches paths that a shell reads unchanged.
var plainPath = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellQuote quotes a path for a shell, if that is necessary.
func shellQuote(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

const embeddedRuntimeText = "the embedded runtime (containment, not a security boundary)"

// printNodes prints one line per kind of node.
func (l upOutput) printNodes(w io.Writer, o *upOptions, simulated []*corev1.Node) {
	if o.local.realNode {
		runtime := o.local.endpoint
		if o.local.embedded.realNode {
			runtime = embeddedRuntimeText
		}
		fmt.Fprintf(w, "  nodes\t%s\tthis machine, pods run in %s\n", o.local.nodeName, runtime)
	}
	if o.local.virtualNodes > 0 {
		runtime := "containerd"
		if o.local.embedded.virtualNodes {
			runtime = embeddedRuntimeText
		}
		fmt.Fprintf(w, "  nodes\t%d virtual\t%s memory, %s disk each; pods run in %s\n", o.local.virtualNodes, o.local.memory, o.local.disk, runtime)
	}
	for _, note := range o.local.notes {
		fmt.Fprintf(w, "  \t\t%s\n", note)
	}
	if text := o.services.describe(); text != "" {
		fmt.Fprintf(w, "  services\t%s\t\n", text)
	}
	if len(simulated) > 0 || !o.local.enabled() {
		fmt.Fprintf(w, "  nodes\t%d simulated\t%s\n", len(simulated), formatNodeSizes(simulated))
	}
}

// formatNodeSizes returns the common size of nodes.
func formatNodeSizes(nodes []*corev1.Node) string {
	if len(nodes) == 0 {
		return ""
	}
	first := nodes[0].Status.Capacity
	for _, n := range nodes {
		c := n.Status.Capacity
		if !c.Cpu().Equal(*first.Cpu()) || !c.Memory().Equal(*first.Memory()) {
			return "of different sizes"
		}
	}
	return fmt.Sprintf("%s cpu, %s memory each", first.Cpu(), first.Memory())
}
