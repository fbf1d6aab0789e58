package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/internal/table"
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

func (l upOutput) printStarted(o *upOptions, loaded settings.Settings, server *apiserver.Server, nodes []*corev1.Node, otherNodes int, duration time.Duration) {
	var profiles []string
	for _, p := range loaded.Scheduler.Profiles {
		profiles = append(profiles, p.Name)
	}
	fmt.Fprintf(l.w, "Berth is up after %.1f s\n", duration.Seconds())
	t := table.New(table.Columns("", "", ""), nil)
	t.AddRow("  API server", "https://"+server.Address(), "")
	if l.page != nil {
		t.AddRow("  web page", fmt.Sprintf("https://%s/ui/", l.page), "sign in with a token, or: berth ui")
	}
	t.AddRow("  scheduler", "https://"+l.schedulerListener.Addr().String(), fmt.Sprintf("%s, seed %d", strings.Join(profiles, ", "), loaded.Berth.Scheduler.Seed))
	t.AddRow("  controllers", "https://"+l.controllersListener.Addr().String(), fmt.Sprintf("%d controllers", len(controllermanager.Controllers)))
	if o.descheduler.policyFile != "" {
		t.AddRow("  descheduler", fmt.Sprintf("every %v", o.descheduler.interval), o.descheduler.policyFile)
	}
	l.addNodes(t, o, nodes)
	_ = t.Write(l.w, false)
	fmt.Fprintf(l.w, "  data         %s\n  kubeconfig   %s\n", o.storage(), server.KubeconfigPath())
	if otherNodes > 0 {
		fmt.Fprintf(l.w, "\n%s\n", table.Fill(fmt.Sprintf("The cluster has %d more nodes, of an earlier start or with separate agents. Pods on nodes without an agent do not start: "+
			"delete these nodes, or start with them again.", otherNodes), table.Width))
	}
	fmt.Fprintf(l.w, "\nNext, in another terminal:\n\n  export KUBECONFIG=%s\n  %s kubectl %s\n\nPress Ctrl-C to stop.\n",
		shellQuote(server.KubeconfigPath()), programName(), o.local.nextCommand())
}

// storage returns where the data of the cluster is.
func (o *upOptions) storage() string {
	switch {
	case len(o.server.EtcdServers) > 0:
		return "etcd at " + strings.Join(o.server.EtcdServers, ", ")
	case o.ephemeral:
		return "not kept"
	}
	return o.server.DataDir
}

// programName returns what to type for this program: its name if PATH has it, else its path.
func programName() string {
	if _, err := exec.LookPath("berth"); err == nil {
		return "berth"
	}
	path, err := os.Executable()
	if err != nil {
		return "berth"
	}
	return shellQuote(path)
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

// addNodes adds a row for each kind of node.
func (l upOutput) addNodes(t *table.Table, o *upOptions, simulated []*corev1.Node) {
	if o.local.realNode {
		runtime := o.local.endpoint
		if o.local.embedded.realNode {
			runtime = embeddedRuntimeText
		}
		t.AddRow("  nodes", o.local.nodeName, "this machine, pods run in "+runtime)
	}
	if o.local.virtualNodes > 0 {
		runtime := "containerd"
		if o.local.embedded.virtualNodes {
			runtime = embeddedRuntimeText
		}
		t.AddRow("  nodes", fmt.Sprintf("%d virtual", o.local.virtualNodes), fmt.Sprintf("%s memory, %s disk each; pods run in %s", o.local.memory, o.local.disk, runtime))
	}
	for _, note := range o.local.notes {
		t.AddRow("", "", note)
	}
	if text := o.services.describe(); text != "" {
		t.AddRow("  services", "", text)
	}
	if len(simulated) > 0 || !o.local.enabled() {
		t.AddRow("  nodes", fmt.Sprintf("%d simulated", len(simulated)), formatNodeSizes(simulated))
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
