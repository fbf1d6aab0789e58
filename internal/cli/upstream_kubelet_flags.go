package cli

// kubeletFlags are the kubelet's flags that `berth agent` does not have.
var kubeletFlags = map[string]string{
	"address": "the agent listens on all addresses", "allowed-unsafe-sysctls": kubeletField + "allowedUnsafeSysctls", "anonymous-auth": noAgentAuth, "authentication-token-webhook": noAgentAuth,
	"authentication-token-webhook-cache-ttl": noAgentAuth, "authorization-mode": noAgentAuth, "authorization-webhook-cache-authorized-ttl": noAgentAuth,
	"authorization-webhook-cache-unauthorized-ttl": noAgentAuth, "client-ca-file": noAgentAuth, "cert-dir": noAgentCert, "tls-cert-file": noAgentCert,
	"tls-private-key-file": noAgentCert, "tls-cipher-suites": noAgentCert, "tls-min-version": noAgentCert, "rotate-certificates": noAgentCert, "rotate-server-certificates": noAgentCert,
	"bootstrap-kubeconfig": "create a credential with `berth credentials --node NAME` and pass it with --kubeconfig",

	"cgroup-driver": "the agent creates cgroups itself, through the cgroup file system", "cgroup-root": "use --cgroup, or set cgroupRoot in a KubeletConfiguration", "cgroups-per-qos": "each pod has a cgroup",
	"kubelet-cgroups": noOption, "runtime-cgroups": noOption, "system-cgroups": noOption, "kube-reserved-cgroup": kubeletField + "kubeReservedCgroup",
	"system-reserved-cgroup": kubeletField + "systemReservedCgroup", "qos-reserved": noOption, "reserved-cpus": "reserve CPU with --system-reserved or --kube-reserved; pods are not pinned to CPUs", "reserved-memory": noManagers,
	"cpu-manager-policy": noManagers, "cpu-manager-policy-options": noManagers, "cpu-manager-reconcile-period": noManagers, "memory-manager-policy": noManagers,
	"topology-manager-policy": noManagers, "topology-manager-policy-options": noManagers, "topology-manager-scope": noManagers,
	"cpu-cfs-quota": kubeletField + "cpuCFSQuota", "cpu-cfs-quota-period": "the period is the kernel's default, 100ms", "pods-per-core": kubeletField + "podsPerCore",
	"pod-max-pids": kubeletField + "podPidsLimit", "oom-score-adj": noOption, "fail-swap-on": noOption, "fail-cgroupv1": "cgroups v1 and v2 are supported",
	"protect-kernel-defaults": noOption, "max-open-files": noOption, "local-storage-capacity-isolation": kubeletField + "localStorageCapacityIsolation",

	"container-runtime-endpoint": "use --runtime-endpoint, or set containerRuntimeEndpoint in a KubeletConfiguration", "image-service-endpoint": "images and containers have the same endpoint, --runtime-endpoint",
	"container-runtime": "the agent uses CRI, or the embedded runtime (--runtime)", "pod-infra-container-image": "the sandbox image is the container runtime's",
	"runtime-request-timeout": noOption, "image-credential-provider-config": noOption, "image-credential-provider-bin-dir": noOption, "registry-qps": noPullLimit, "registry-burst": noPullLimit,
	"serialize-image-pulls": kubeletField + "serializeImagePulls", "container-log-max-files": kubeletField + "containerLogMaxFiles", "container-log-max-size": kubeletField + "containerLogMaxSize",
	"minimum-container-ttl-duration": noTerminatedContainers, "maximum-dead-containers": noTerminatedContainers, "maximum-dead-containers-per-container": noTerminatedContainers,
	"seccomp-default": kubeletField + "seccompDefault",

	"hostname-override": "use --node-name", "register-node": kubeletField + "registerNode", "provider-id": noOption, "cloud-provider": noCloud, "cloud-config": noCloud,
	"node-status-update-frequency": "changes are reported at once; set nodeStatusReportFrequency in a KubeletConfiguration for the interval of unchanged status",
	"node-status-max-images":       kubeletField + "nodeStatusMaxImages", "resolv-conf": kubeletField + "resolvConf", "experimental-allocatable-ignore-eviction": noOption,

	"config-dir": "--config may be repeated, but a kind may be given once", "kube-api-burst": "the API server limits requests", "kube-api-qps": "the API server limits requests",
	"kube-api-content-type": noOption, "event-qps": "events are not limited", "event-burst": "events are not limited", "sync-frequency": "the agent reacts to changes at once",
	"manifest-url": noManifestURL, "manifest-url-header": noManifestURL, "file-check-frequency": kubeletField + "fileCheckFrequency", "http-check-frequency": noManifestURL, "runonce": "the agent runs until it is stopped",

	"enable-server": "the agent always serves logs, exec and metrics on --port", "enable-debugging-handlers": "the agent always serves logs, exec and metrics on --port",
	"read-only-port": "there is no port without authentication", "healthz-port": "health is at /healthz on --port", "healthz-bind-address": "health is at /healthz on --port",
	"streaming-connection-idle-timeout": noOption, "contention-profiling": noOption, "profiling": noOption,
	"hairpin-mode": noOption, "make-iptables-util-chains": noOption, "volume-plugin-dir": "volume plugins are not supported",
	"volume-stats-agg-period": noOption, "enable-controller-attach-detach": noAttach, "experimental-mounter-path": noOption,
	"lock-file": "the agent locks --root-dir", "exit-on-lock-contention": "the agent locks --root-dir", "windows-service": noWindows, "windows-priorityclass": noWindows,
}

// Hints that several flags share.
const (
	noAgentAuth            = "the cluster's CA authenticates requests to the agent, and the API server authorizes them"
	noAgentCert            = "the agent serves with the certificate of its credential"
	noManagers             = "CPU, memory and topology managers are not supported"
	noPullLimit            = "pulls are limited by serializeImagePulls and maxParallelImagePulls of a KubeletConfiguration"
	noTerminatedContainers = "terminated containers are collected when the disk is short, according to evictionHard of a KubeletConfiguration"
	noCloud                = "there is no cloud provider; label and taint nodes with --node-labels and --register-with-taints"
	noManifestURL          = "static pods come from files: use --pod-manifest-path, or set staticPodPath in a KubeletConfiguration"
	noWindows              = "nodes run Linux"
)
