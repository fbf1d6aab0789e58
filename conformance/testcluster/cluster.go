package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Runtimes maps the names of container runtimes to the values of `berth up --runtime`.
var Runtimes = map[string]string{"embedded": "embedded", "containerd": "cri"}

// prepareNetwork has the commands that add a default route to the network namespace of the cluster. Without a default
// route, the API server has no address that it can publish, and the node has no route to Services.
const prepareNetwork = "ip link set lo up && ip link add uplink type veth peer name gateway && ip link set uplink up && ip link set gateway up && " +
	"ip addr add 192.0.2.2/24 dev uplink && ip route add default via 192.0.2.1"

const (
	// startTimeout bounds the time until both nodes are ready.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the time until `berth up` exits.
	stopTimeout = time.Minute
)

// Config selects the cluster that Start starts.
type Config struct {
	Berth   string // path of the program
	Runtime string // a key of Runtimes
	Dir     string // for data, log and reports
	Archive string // tar file with the images that Start loads on all nodes
	// Pulled are the images of the archive that nodes can pull, because a pod has the pull policy Always.
	Pulled []string
	// InsecureRegistries may use plain HTTP. containerd allows it for all registries on a loopback address.
	InsecureRegistries []string
}

// Cluster is a running `berth up` with two virtual nodes. It has a separate network namespace, so that the service
// proxy of another cluster on this machine has no effect, and no network interface remains.
type Cluster struct {
	Config
	Kubeconfig string
	Kubectl    string // path of a program that behaves like kubectl
	process    *exec.Cmd
	registry   *imageRegistry
	done       chan error // has the error with which the process ended
}

// Start starts a cluster, waits until its nodes are ready and loads the images.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	c := &Cluster{Config: config, done: make(chan error, 1)}
	data := filepath.Join(c.Dir, "data")
	c.Kubeconfig, c.Kubectl = filepath.Join(data, "kubeconfig"), filepath.Join(c.Dir, "kubectl")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(c.Kubeconfig); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.Dir, "berth.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if c.registry, err = startRegistry(ctx, c.Dir, c.Archive, c.Pulled); err != nil {
		return nil, err
	}
	// The context must not kill the process: Stop interrupts it, so that it can remove its nodes.
	args := []string{"-c", prepareNetwork + ` && exec "$0" "$@"`, c.Berth, "up", "--ephemeral", "--data-dir", data,
		"--runtime", Runtimes[c.Runtime], "--virtual-nodes", "2", "--virtual-memory", "4Gi", "--virtual-disk", "6Gi"}
	if c.Runtime == "embedded" {
		for _, r := range c.InsecureRegistries {
			args = append(args, "--insecure-registry", r)
		}
	}
	c.process = exec.Command("sh", args...) //nolint:noctx // see above
	c.process.Stdout, c.process.Stderr = log, log
	c.process.Env = append(os.Environ(), c.registry.environment()...)
	c.process.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true, // Ctrl-C reaches only this command
		Cloneflags: syscall.CLONE_NEWNET,
	}
	if err := c.process.Start(); err != nil {
		c.registry.close()
		return nil, err
	}
	go func() { c.done <- c.process.Wait() }()
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the cluster (log %s): %w", log.Name(), err), c.Stop())
	}
	return c, nil
}

// prepare writes the program kubectl, waits for the nodes and loads the images.
func (c *Cluster) prepare(ctx context.Context) error {
	kubectl := strings.Join(slices.Concat([]string{"exec"}, c.EnterCommand(), []string{c.Berth, "kubectl", `"$@"`}), " ")
	if err := os.WriteFile(c.Kubectl, []byte("#!/bin/sh\n"+kubectl+"\n"), 0o755); err != nil {
		return err
	}
	start := time.Now()
	for !c.isReady(ctx) {
		select {
		case err := <-c.done:
			c.done <- err
			return fmt.Errorf("berth up exited: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if time.Since(start) > startTimeout {
			return fmt.Errorf("two nodes are not ready after %s", startTimeout)
		}
	}
	fmt.Printf("started a cluster on %s in %s: KUBECONFIG=%s %s\n", c.Runtime, time.Since(start).Round(time.Second), c.Kubeconfig, c.Kubectl)
	if err := c.registry.serveProxy(c.process.Process.Pid); err != nil {
		return err
	}
	start = time.Now()
	load := c.loadEmbedded
	if c.Runtime == "containerd" {
		load = c.loadContainerd
	}
	if err := load(ctx); err != nil {
		return err
	}
	fmt.Printf("loaded the images on both nodes in %s\n", time.Since(start).Round(time.Second))
	return nil
}

// EnterCommand returns the beginning of a command that runs in the network namespace of the cluster.
func (c *Cluster) EnterCommand() []string {
	return enterCommand(c.process)
}

func enterCommand(process *exec.Cmd) []string {
	return []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", process.Process.Pid)}
}

// isReady reports whether two nodes are ready.
func (c *Cluster) isReady(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, c.Kubectl, "--kubeconfig", c.Kubeconfig, "get", "nodes", "-o",
		`jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`).Output()
	return err == nil && strings.Count(string(out), "True") == 2
}

// loadEmbedded loads the images on the nodes of the embedded runtime.
func (c *Cluster) loadEmbedded(ctx context.Context) error {
	stores, err := filepath.Glob(filepath.Join(c.Dir, "data", "virtual", "*", "images"))
	if err != nil {
		return err
	}
	for _, store := range stores {
		root := filepath.Dir(store)
		if out, err := exec.CommandContext(ctx, c.Berth, "image", "load", c.Archive, "--root-dir", root).CombinedOutput(); err != nil {
			return fmt.Errorf("loading images in %s: %w\n%s", root, err, out)
		}
	}
	return nil
}

// socketPath matches the socket in the configuration of a node's containerd.
var socketPath = regexp.MustCompile(`/run/berth-[^ "']*/c\.sock\b`)

// loadContainerd loads the images in the containerd of each node.
func (c *Cluster) loadContainerd(ctx context.Context) error {
	configs, err := filepath.Glob(filepath.Join(c.Dir, "data", "virtual", "*", "containerd", "containerd.toml"))
	if err != nil {
		return err
	}
	for _, config := range configs {
		data, err := os.ReadFile(config)
		if err != nil {
			return err
		}
		socket := socketPath.Find(data)
		if socket == nil {
			return fmt.Errorf("%s: no socket path /run/berth-*/c.sock", config)
		}
		if out, err := exec.CommandContext(ctx, "ctr", "-a", string(socket), "-n", "k8s.io", "images", "import", "--snapshotter", "overlayfs", c.Archive).CombinedOutput(); err != nil {
			return fmt.Errorf("loading images with %s: %w\n%s", socket, err, out)
		}
	}
	return nil
}

// Stop ends the cluster, which removes its nodes and pods, and the registry.
func (c *Cluster) Stop() error {
	defer c.registry.close()
	return stopProcess(c.process, c.done, "berth up")
}

// stopProcess interrupts a process and waits until it has ended.
func stopProcess(process *exec.Cmd, done <-chan error, name string) error {
	_ = process.Process.Signal(os.Interrupt) // it may have ended
	select {
	case _ = <-done:
		return nil
	case <-time.After(stopTimeout):
		_ = process.Process.Kill()
		_ = <-done
		return fmt.Errorf("%s did not exit within %s", name, stopTimeout)
	}
}
