package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/parity/process"
)

// server is a separate `berth server` with an empty data directory.
type server struct {
	*process.Process
	dir    string
	berth  string // the program
	client kubernetes.Interface
}

// startServer starts a server and waits until it is ready.
func (b *bench) startServer(berth string) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return nil, err
	}
	// The nodes have no agents, so they must be ready from the start.
	cmd := b.command(berth, "server", "--data-dir", dir, "--listen", "127.0.0.1:0",
		"--disable-admission-plugins", "TaintNodesByCondition,ServiceAccount")
	p, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	s := &server{Process: p, dir: dir, berth: berth}
	if err = p.WaitUntil(b.ctx, func() bool { return p.HasOutput("ready at") }); err == nil {
		s.client, err = newClient(filepath.Join(dir, "kubeconfig"))
	}
	if err != nil {
		p.Stop()
	}
	return s, err
}

// newClient returns a client without rate limits and with a separate connection. Otherwise client-go
// shares one among clients with the same configuration.
func newClient(kubeconfig string) (kubernetes.Interface, error) {
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	c.QPS, c.Dial = -1, new(net.Dialer).DialContext
	c.ContentType, c.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	return kubernetes.NewForConfig(c)
}

// credential writes the kubeconfig of a scheduler and returns its path.
func (s *server) credential(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, s.berth, "credentials", "--for", "scheduler", "--data-dir", s.dir).Output()
	if err != nil {
		return "", fmt.Errorf("berth credentials: %w", err)
	}
	file := filepath.Join(s.dir, "scheduler.kubeconfig")
	return file, os.WriteFile(file, out, 0o600)
}

// schedulerConfig raises the limits of kube-scheduler's client.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 10000, burst: 10000, contentType: application/vnd.kubernetes.protobuf}
leaderElection: {leaderElect: false}
`

func (b *bench) startScheduler(side string, s *server, commands map[string]string) (*process.Process, error) {
	credential, err := s.credential(b.ctx)
	if err != nil {
		return nil, err
	}
	if side == berth {
		return process.Start(b.command(commands[berth], "scheduler", "--kubeconfig", credential, "--leader-elect=false"))
	}
	file := filepath.Join(s.dir, "scheduler.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, schedulerConfig, credential), 0o600); err != nil {
		return nil, err
	}
	return process.Start(b.command(commands[kube], "--config", file, "--secure-port", "0"))
}
