package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// runtimes maps the values of -runtime to those of berth up --runtime.
var runtimes = map[string]string{"embedded": "embedded", "containerd": "cri"}

const (
	listenAddress = "127.0.0.1:25443"
	// serviceRange differs from the default, because clusters on one machine must not share it.
	serviceRange = "10.73.0.0/16"
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
)

// cluster is a running berth up with two virtual nodes.
type cluster struct {
	tools      *toolset
	runtime    string
	dir        string // for its data, log and reports
	kubeconfig string
	kubectl    string // path of a program that behaves like kubectl
	process    *exec.Cmd
	done       chan error // has the error with which the process ended
}

// startCluster starts the cluster, waits until its nodes are ready and loads the images.
func startCluster(ctx context.Context, t *toolset, o options, images string) (*cluster, error) {
	c := &cluster{tools: t, runtime: o.runtime, dir: filepath.Join(t.dir, o.runtime), done: make(chan error, 1)}
	data := filepath.Join(c.dir, "data")
	c.kubeconfig, c.kubectl = filepath.Join(data, "kubeconfig"), filepath.Join(c.dir, "kubectl")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(c.kubeconfig); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.WriteFile(c.kubectl, fmt.Appendf(nil, "#!/bin/sh\nexec %s kubectl \"$@\"\n", t.berth), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.dir, "berth.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// stop ends the process, and the context does not, so that the process removes its nodes.
	c.process = exec.Command(t.berth, "up", "--ephemeral", "--data-dir", data, "--listen", listenAddress, "--runtime", runtimes[o.runtime], //nolint:noctx // see above
		"--virtual-nodes", "2", "--virtual-memory", "4Gi", "--virtual-disk", "6Gi", "--service-cluster-ip-range", serviceRange)
	c.process.Stdout, c.process.Stderr = log, log
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only this command
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	go func() { c.done <- c.process.Wait() }()
	if err := c.prepare(ctx, images); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the cluster (log %s): %w", log.Name(), err), c.stop())
	}
	return c, nil
}

// prepare waits for the nodes and loads the images.
func (c *cluster) prepare(ctx context.Context, images string) error {
	start := time.Now()
	for !c.ready(ctx) {
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
	fmt.Printf("started a cluster on %s in %s: KUBECONFIG=%s\n", c.runtime, time.Since(start).Round(time.Second), c.kubeconfig)
	start = time.Now()
	load := c.loadEmbedded
	if c.runtime == "containerd" {
		load = c.loadContainerd
	}
	if err := load(ctx, images); err != nil {
		return err
	}
	fmt.Printf("loaded the images on both nodes in %s\n", time.Since(start).Round(time.Second))
	return nil
}

// ready reports whether two nodes are ready.
func (c *cluster) ready(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, c.kubectl, "--kubeconfig", c.kubeconfig, "get", "nodes", "-o",
		`jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`).Output()
	return err == nil && strings.Count(string(out), "True") == 2
}

// loadEmbedded loads the images on the nodes of the embedded runtime.
func (c *cluster) loadEmbedded(ctx context.Context, images string) error {
	stores, err := filepath.Glob(filepath.Join(c.dir, "data", "virtual", "*", "images"))
	if err != nil {
		return err
	}
	for _, store := range stores {
		root := filepath.Dir(store)
		if out, err := exec.CommandContext(ctx, c.tools.berth, "image", "load", images, "--root-dir", root).CombinedOutput(); err != nil {
			return fmt.Errorf("loading images in %s: %w\n%s", root, err, out)
		}
	}
	return nil
}

// socketPath matches the socket in the configuration of a node's containerd.
var socketPath = regexp.MustCompile(`/run/berth-[^ "']*/c\.sock\b`)

// loadContainerd loads the images in the containerd of each node.
func (c *cluster) loadContainerd(ctx context.Context, images string) error {
	configs, err := filepath.Glob(filepath.Join(c.dir, "data", "virtual", "*", "containerd", "containerd.toml"))
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
			return fmt.Errorf("%s has no socket path", config)
		}
		if out, err := exec.CommandContext(ctx, "ctr", "-a", string(socket), "-n", "k8s.io", "images", "import", "--snapshotter", "overlayfs", images).CombinedOutput(); err != nil {
			return fmt.Errorf("loading images with %s: %w\n%s", socket, err, out)
		}
	}
	return nil
}

// stop ends the cluster, which removes its nodes and pods.
func (c *cluster) stop() (err error) {
	_ = c.process.Process.Signal(os.Interrupt) // it may have ended
	select {
	case _ = <-c.done:
	case <-time.After(stopTimeout):
		_ = c.process.Process.Kill()
		_ = <-c.done
		err = fmt.Errorf("berth up did not exit within %s", stopTimeout)
	}
	return err
}
