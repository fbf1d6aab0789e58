package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/localnodes"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// upLocalNodes holds the flags of `berth up` for nodes that run containers.
type upLocalNodes struct {
	realNode           bool
	runtime            string
	endpoint, rootDir  string
	virtualNodes       int
	allowSimulated     bool
	memory, disk       string
	inodes             int64
	lowDisk            int64
	insecureRegistries []string
	virtualDir         string // of the virtual nodes
	dataDir            string // as given by --data-dir
	ephemeral          bool
	nodeName           string // of the real node

	size     virtualnode.Options // from memory and disk
	embedded embeddedNodes
	notes    []string // printed with the nodes
	// awaitEndpoints blocks until Services send no new connections to a pod's addresses.
	awaitEndpoints func(ctx context.Context, addresses []string)
	kubelet        kubeletFlags
	flags          *pflag.FlagSet
}

// simulatedTaint repels pods from simulated nodes when there are also nodes that run
// containers.
var simulatedTaint = corev1.Taint{Key: "berth.dev/simulated", Effect: corev1.TaintEffectNoSchedule}

func (f *upLocalNodes) addFlags(flags *pflag.FlagSet) {
	f.flags = flags
	flags.BoolVar(&f.realNode, "real-node", false, "run pods on this machine as one node")
	localnodes.AddRuntimeFlag(flags, &f.runtime)
	flags.StringVar(&f.endpoint, "runtime-endpoint", defaultEndpoint, "CRI socket of --real-node; without this flag, the embedded runtime is used if no ready runtime listens there")
	flags.StringVar(&f.rootDir, "root-dir", "", "directory of --real-node for pod volumes, files and logs (default: agent in the data directory)")
	flags.IntVar(&f.virtualNodes, "virtual-nodes", 0, "number of virtual nodes: parts of this machine, each with its own cgroup, disk and container runtime")
	flags.BoolVar(&f.allowSimulated, "allow-simulated", false, "if this machine cannot run the nodes of --real-node or --virtual-nodes, print a warning and use simulated nodes instead")
	flags.StringVar(&f.memory, "virtual-memory", "2Gi", "memory of each virtual node")
	flags.StringVar(&f.disk, "virtual-disk", "2Gi", "disk of each virtual node (a sparse file)")
	flags.Int64Var(&f.lowDisk, lowDiskFlag, nodepressure.DefaultDiskReserve>>20, "a real or virtual node accepts no new pods if its disk has fewer MiB available")
	insecureRegistryFlag(flags, &f.insecureRegistries)
	f.kubelet.addFlags(flags)
	flags.Int64Var(&f.inodes, "virtual-inodes", 0, "inodes of each virtual node's disk; 0 for ext4's default")
}

func (f *upLocalNodes) enabled() bool { return f.realNode || f.virtualNodes > 0 }

// embeddedNodes records which nodes use the embedded runtime.
type embeddedNodes struct{ realNode, virtualNodes bool }

// unavailableError reports that this machine cannot run the requested nodes, and that no flag
// requires a particular runtime.
type unavailableError struct {
	error
	flag string // that requests the nodes
}

// fallBackToSimulated prints an unavailableError as a warning and clears the nodes. It
// returns any other error, and all errors without --allow-simulated.
func (f *upLocalNodes) fallBackToSimulated(w io.Writer, cause error) error {
	var unavailable unavailableError
	if !errors.As(cause, &unavailable) {
		return cause
	}
	if !f.allowSimulated {
		return fmt.Errorf("%w; with --allow-simulated berth up uses simulated nodes instead", cause)
	}
	alternative := "Using simulated nodes instead"
	f.virtualNodes, f.embedded.virtualNodes = 0, false
	if unavailable.flag == "real-node" {
		f.realNode = false
	} else if f.realNode {
		alternative = "Using the machine as one node without virtual nodes"
	}
	printWarnings(w, fmt.Sprintf("%s. %s.", strings.ReplaceAll(unavailable.Error(), "\n", "; "), alternative))
	return nil
}

// chooseRuntimes selects the container runtime of each kind of node.
func (f *upLocalNodes) chooseRuntimes() error {
	endpointSet := f.flags != nil && f.flags.Changed("runtime-endpoint")
	orUnavailable := func(flag string, err error) error {
		if err == nil {
			return nil
		}
		if err = fmt.Errorf("--%s: %w", flag, err); f.runtime == localnodes.RuntimeAuto && !endpointSet {
			return unavailableError{err, flag}
		}
		return err
	}
	var err error
	if f.realNode {
		if problems := validation.IsDNS1123Subdomain(f.nodeName); len(problems) > 0 {
			return fmt.Errorf("--real-node: the host name %q is not a valid node name: %s: change it with hostnamectl or hostname", f.nodeName, problems[0])
		}
		if err := requireRoot(); err != nil {
			return orUnavailable("real-node", err)
		}
		criErr := f.checkRuntime()
		if f.embedded.realNode, err = localnodes.UseEmbedded(f.runtime, endpointSet, criErr, f.rootDir); err != nil {
			return orUnavailable("real-node", err)
		}
		if f.embedded.realNode && f.runtime == localnodes.RuntimeAuto && socketExists(f.endpoint) {
			f.notes = append(f.notes, "since "+localnodes.EmbeddedReason(criErr))
		}
	}
	if f.virtualNodes > 0 {
		if err := requireRoot(); err != nil {
			return orUnavailable("virtual-nodes", err)
		}
		criErr := localnodes.CheckContainerd()
		if f.embedded.virtualNodes, err = localnodes.UseEmbedded(f.runtime, false, criErr, ""); err != nil {
			return orUnavailable("virtual-nodes", err)
		}
		return orUnavailable("virtual-nodes", virtualnode.CheckRequirements())
	}
	return nil
}

// addNetworkNotes records which network features the pods will lack.
func (f *upLocalNodes) addNetworkNotes(k *config.Kubelet) {
	if _, err := exec.LookPath("iptables"); err != nil && (f.realNode && f.embedded.realNode || f.virtualNodes > 0 && f.embedded.virtualNodes) {
		f.notes = append(f.notes, "iptables is not installed: pods have no host ports")
	}
	if err := localnodes.CheckNameservers(k.ResolvConf); err != nil && f.enabled() && len(k.ClusterDNS) == 0 {
		f.notes = append(f.notes, err.Error())
	}
}

// nodeNames returns the name of the real node, and v1, v2, ... for virtual nodes.
func (f *upLocalNodes) nodeNames() []string {
	var out []string
	if f.realNode {
		out = append(out, f.nodeName)
	}
	for i := range f.virtualNodes {
		out = append(out, fmt.Sprintf("v%d", i+1))
	}
	return out
}

func hostNodeName() string {
	host, _ := os.Hostname()
	return strings.ToLower(cmp.Or(host, "machine"))
}

// removeStaleNodes removes virtual nodes of a killed process.
func (f *upLocalNodes) removeStaleNodes(ctx context.Context) error {
	if _, err := os.Stat(f.virtualDir); err != nil && f.virtualNodes == 0 || os.Geteuid() != 0 {
		return nil
	}
	pool, err := virtualnode.NewPool(f.virtualDir)
	if err != nil {
		return err
	}
	return pool.Cleanup(ctx)
}

// start starts the agents, each with the credential of its node.
func (f *upLocalNodes) start(group *rungroup.Group, server *apiserver.Server, loaded settings.Settings) error {
	options := func(name string) (nodeagent.Options, error) {
		restConfig, err := nodeClientConfig(server, name)
		return nodeagent.Options{Name: name, Config: restConfig, LowDiskMiB: f.lowDisk, InsecureRegistries: f.insecureRegistries, AwaitEndpoints: f.awaitEndpoints, Labels: f.kubelet.labels, Taints: loaded.Kubelet.RegisterWithTaints, PodCIDRTimeout: localnodes.PodCIDRTimeout(&loaded, true),
			Nodes: loaded.Berth.Nodes, Kubelet: loaded.Kubelet, Pressure: loaded.Berth.Pressure.Options(), Log: klog.Background()}, err
	}
	if f.realNode {
		o, err := options(f.nodeName)
		if err != nil {
			return err
		}
		o.Endpoint, o.Root, o.Cgroup = f.endpoint, f.rootDir, "/"
		if f.embedded.realNode {
			o.Embedded = &nodeagent.Embedded{}
		}
		o.OnStop = func(pods int) { printRemainingPods(os.Stderr, o.Name, pods, f.remainingPodsHint(o.Name)) }
		group.Start("node "+o.Name, func(ctx context.Context) error { return nodeagent.Run(ctx, o) })
	}
	if f.virtualNodes == 0 {
		return nil
	}
	pool, err := virtualnode.NewPool(f.virtualDir)
	if err != nil {
		return err
	}
	for i := range f.virtualNodes {
		o, err := options(fmt.Sprintf("v%d", i+1))
		if err != nil {
			return err
		}
		if f.embedded.virtualNodes {
			o.Embedded = &nodeagent.Embedded{}
		}
		size := f.size
		size.Index = i
		group.Start("node "+o.Name, func(ctx context.Context) error { return nodeagent.RunVirtual(ctx, pool, size, o) })
	}
	return nil
}

// printRemainingPods prints how many pods keep running after a node's agent has stopped.
func printRemainingPods(w io.Writer, node string, pods int, hint string) {
	if pods == 0 {
		return
	}
	subject := "1 pod keeps running"
	if pods > 1 {
		subject = fmt.Sprintf("%d pods keep running", pods)
	}
	fmt.Fprintf(w, "berth: node %s: %s; %s\n", node, subject, hint) // not wrapped: the hint has a command to copy
}

// stopPodsHint describes how to stop the pods of a node.
func stopPodsHint(node, kubeconfig string) string {
	return fmt.Sprintf("to stop pods, delete them while berth up runs: berth kubectl --kubeconfig %s delete pods --all-namespaces --field-selector spec.nodeName=%s", kubeconfig, node)
}

// remainingPodsHint describes what happens to pods that keep running.
func (f *upLocalNodes) remainingPodsHint(node string) string {
	command := "berth up --real-node --data-dir " + f.dataDir
	if f.ephemeral {
		return "no data is kept about them: the next " + command + " removes them"
	}
	return command + " continues with them; " + stopPodsHint(node, cli.KubeconfigPath(f.dataDir))
}

// nodeClientConfig returns a client configuration with the credential of a node.
func nodeClientConfig(server *apiserver.Server, name string) (*rest.Config, error) {
	authority := server.Authority()
	cert, key, err := authority.ClientPEM(pki.Node(name))
	return &rest.Config{Host: "https://" + server.Address(), UserAgent: "berth-agent",
		TLSClientConfig: rest.TLSClientConfig{CAData: authority.CAPEM(), CertData: cert, KeyData: key}}, err
}

// setDefaults sets directories and the node name. Virtual nodes are in the locked data
// directory, not in the temporary one of --ephemeral, which could not be found after a
// crash.
func (f *upLocalNodes) setDefaults(dataDir string, ephemeral bool) {
	f.dataDir, f.ephemeral = dataDir, ephemeral
	f.virtualDir = filepath.Join(dataDir, "virtual")
	f.rootDir = cmp.Or(f.rootDir, filepath.Join(dataDir, "agent"))
	f.nodeName = cmp.Or(nodeagent.SavedName(f.rootDir), hostNodeName())
}
