package cli

// upKubeletFlags are flags of the kubelet. Their hints apply to `berth up` only, which starts the node agents itself.
var upKubeletFlags = map[string]string{
	"kubeconfig": ownAPIServer, "bootstrap-kubeconfig": "`berth up` issues the credentials of its nodes",
	"hostname-override": "the real node has the host name of the machine; `berth agent --node-name` runs a node with another name",
	"node-ip":           "the node agent selects the address; `berth agent --node-ip` runs a node with another one", "pod-cidr": "podCIDRs are allocated from --cluster-cidr",
	"cgroup-root": "the real node has the root cgroup; `berth agent --cgroup` runs a node in another one", "container-runtime-endpoint": "use --runtime-endpoint",
	"port": nodePort, "enable-server": nodePort, "enable-debugging-handlers": nodePort, "healthz-port": nodePort, "healthz-bind-address": nodePort,
}

// upSchedulerFlags are flags of kube-scheduler, with hints for `berth up`.
var upSchedulerFlags = map[string]string{
	"master": ownAPIServer, "bind-address": componentPorts, "secure-port": componentPorts, "write-config-to": "/configz on the scheduler's port shows the effective configuration",
	"leader-elect": oneInstance, "leader-elect-lease-duration": oneInstance, "leader-elect-renew-deadline": oneInstance, "leader-elect-resource-lock": oneInstance,
	"leader-elect-resource-name": oneInstance, "leader-elect-resource-namespace": oneInstance, "leader-elect-retry-period": oneInstance,
}

// upControllerManagerFlags are flags of kube-controller-manager, with hints for `berth up`.
var upControllerManagerFlags = map[string]string{
	"controllers": "all controllers run", "enable-garbage-collector": "all controllers run", "use-service-account-credentials": "each component has its own user",
	"root-ca-file": "pods get the CA of the API server", "enable-dynamic-provisioning": localStorage, "enable-hostpath-provisioner": localStorage,
}

// upDeschedulerFlags are flags of the Kubernetes descheduler, with hints for `berth up`.
var upDeschedulerFlags = map[string]string{
	"descheduling-interval": "use --descheduler-interval", "policy-config-file": "use --descheduler-policy", "dry-run": "use `berth descheduler --dry-run`",
	"node-selector": upPolicyField + "nodeSelector", "evict-local-storage-pods": upPolicyField + "the arguments of the plugin DefaultEvictor",
	"max-pods-to-evict-per-node": upPolicyField + "maxNoOfPodsToEvictPerNode", "http-bind-address": componentPorts, "disable-metrics": noMetricOption,
	"client-connection-kubeconfig": ownAPIServer, "client-connection-qps": noOption, "client-connection-burst": noOption,
}

// Hints that several flags share.
const (
	ownAPIServer   = "`berth up` runs its own API server, whose kubeconfig is in --data-dir"
	oneInstance    = "`berth up` runs one instance of each component"
	componentPorts = "scheduler and controllers serve on 127.0.0.1, ports 10259 and 10257, or on the ports that `berth up` prints if these are taken"
	nodePort       = "each node serves health, logs, exec and metrics on a free port, which its status has in daemonEndpoints"
	localStorage   = "the StorageClass berth-local provisions volumes"
	upPolicyField  = "the policy of --descheduler-policy has "
)
