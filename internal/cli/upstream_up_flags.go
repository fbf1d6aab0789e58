package cli

// upKubeletFlags are flags of the kubelet. Their hints apply to `berth up` only, which starts the node agents itself.
var upKubeletFlags = map[string]string{
	"bootstrap-kubeconfig": "`berth up` issues the credentials of its nodes",
	"hostname-override":    "the real node has the host name of the machine; `berth agent --node-name` runs a node with another name",
	"cgroup-root":          "the real node has the root cgroup; `berth agent --cgroup` runs a node in another one", "container-runtime-endpoint": "use --runtime-endpoint",
	"port": nodePort, "enable-server": nodePort, "enable-debugging-handlers": nodePort, "healthz-port": nodePort, "healthz-bind-address": nodePort,
}

// upSchedulerFlags are flags of kube-scheduler, with hints for `berth up`.
var upSchedulerFlags = map[string]string{
	"master": ownAPIServer, "bind-address": componentPorts, "secure-port": componentPorts, "write-config-to": "/configz on the scheduler's port shows the effective configuration",
}

// upControllerManagerFlags are flags of kube-controller-manager, with hints for `berth up`.
var upControllerManagerFlags = map[string]string{
	"controllers": "all controllers run", "enable-garbage-collector": "all controllers run", "use-service-account-credentials": "each component has its own user",
	"root-ca-file": "pods get the CA of the API server", "enable-dynamic-provisioning": localStorage, "enable-hostpath-provisioner": localStorage,
}

// Hints that several flags share.
const (
	ownAPIServer   = "`berth up` runs its own API server, whose kubeconfig is in --data-dir"
	componentPorts = "scheduler and controllers serve on 127.0.0.1, ports 10259 and 10257, or on the ports that `berth up` prints if these are taken"
	nodePort       = "each node serves health, logs, exec and metrics on a free port, which its status has in daemonEndpoints"
	localStorage   = "the StorageClass berth-local provisions volumes"
)
