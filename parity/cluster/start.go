package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berthproject/berth/parity/process"
)

// cluster is an API server on loopback with an etcd.
type cluster struct {
	dir       string
	authority *certificateAuthority
	address   string // URL of the API server
	processes []*process.Process
	client    kubernetes.Interface // of the admin
}

func (c *cluster) stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop()
	}
}

// stopBerth stops the processes that were started after etcd and kube-apiserver.
func (c *cluster) stopBerth() {
	for len(c.processes) > 2 {
		c.processes[len(c.processes)-1].Stop()
		c.processes = c.processes[:len(c.processes)-1]
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startCluster builds and starts etcd and kube-apiserver and waits until they are ready.
func startCluster(ctx context.Context, dir string) (*cluster, error) {
	etcd, err := process.Build(ctx, ".", "go.etcd.io/etcd/server/v3", "etcd")
	if err != nil {
		return nil, err
	}
	apiserver, err := process.Build(ctx, ".", "k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver", process.KubeVersionFlags)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir}
	if c.authority, err = newAuthority(dir); err != nil {
		return nil, err
	}
	for _, create := range []func() error{
		func() error { return c.authority.serving("etcd") },
		func() error { return c.authority.serving("apiserver") },
		func() error { return c.authority.client("admin", "admin", "system:masters") },
		c.authority.signing,
	} {
		if err := create(); err != nil {
			return nil, err
		}
	}
	store, err := c.startEtcd(ctx, etcd)
	if err == nil {
		err = c.startAPIServer(ctx, apiserver, store)
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) startEtcd(ctx context.Context, command string) (url string, err error) {
	clients, err := freePort()
	if err != nil {
		return "", err
	}
	peers, err := freePort()
	if err != nil {
		return "", err
	}
	url, peer := fmt.Sprintf("https://127.0.0.1:%d", clients), fmt.Sprintf("http://127.0.0.1:%d", peers)
	p, err := process.Start(exec.CommandContext(ctx, command, "--data-dir", c.dir+"/etcd", "--name", "a", "--unsafe-no-fsync",
		"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "a="+peer,
		"--cert-file", c.authority.file("etcd.crt"), "--key-file", c.authority.file("etcd.key"), "--trusted-ca-file", c.authority.file("ca.crt"), "--client-cert-auth"))
	if err != nil {
		return "", err
	}
	c.processes = append(c.processes, p)
	return url, p.WaitUntil(ctx, func() bool { return p.HasOutput("ready to serve client requests") })
}

func (c *cluster) startAPIServer(ctx context.Context, command, store string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	c.address = fmt.Sprintf("https://127.0.0.1:%d", port)
	file := c.authority.file
	p, err := process.Start(exec.CommandContext(ctx, command, "--etcd-servers", store, "--etcd-cafile", file("ca.crt"), "--etcd-certfile", file("etcd.crt"), "--etcd-keyfile", file("etcd.key"),
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--endpoint-reconciler-type", "none",
		"--tls-cert-file", file("apiserver.crt"), "--tls-private-key-file", file("apiserver.key"), "--client-ca-file", file("ca.crt"),
		"--service-account-issuer", c.address, "--service-account-key-file", file("sa.pub"), "--service-account-signing-key-file", file("sa.key"),
		"--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.96.0.0/16",
		// There is no kubelet to make nodes ready and no controller to create service accounts.
		"--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition"))
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	config := &rest.Config{Host: c.address, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAFile: file("ca.crt"), CertFile: file("admin.crt"), KeyFile: file("admin.key")}}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	return p.WaitUntil(ctx, func() bool {
		_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil
	})
}

// kubeconfig writes a kubeconfig of a user and returns its path.
func (c *cluster) kubeconfig(name string, user *api.AuthInfo) (string, error) {
	file := c.authority.file(name + ".kubeconfig")
	config := api.NewConfig()
	config.Clusters["parity"] = &api.Cluster{Server: c.address, CertificateAuthority: c.authority.file("ca.crt")}
	config.AuthInfos["user"] = user
	config.Contexts["parity"] = &api.Context{Cluster: "parity", AuthInfo: "user"}
	config.CurrentContext = "parity"
	return file, clientcmd.WriteToFile(*config, file)
}
