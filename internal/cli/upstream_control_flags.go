package cli

// kubectlDrainFlags are flags of kubectl drain that `berth drain` does not have.
var kubectlDrainFlags = map[string]string{
	"dry-run":                      "use --what-if",
	"selector":                     "name the nodes, for example $(kubectl get nodes -l pool=a -o name)",
	"disable-eviction":             "pods are always evicted, so that disruption budgets are respected",
	"skip-wait-for-delete-timeout": noOption,
	"chunk-size":                   noOption,
}

// schedulerFlags are kube-scheduler's flags that `berth scheduler` does not have.
var schedulerFlags = map[string]string{
	"bind-address": useMetrics, "secure-port": useMetrics, "address": useMetrics, "port": useMetrics, "master": useKubeconfig,
	"kube-api-burst": schedulerField + "clientConnection.burst", "kube-api-qps": schedulerField + "clientConnection.qps", "kube-api-content-type": schedulerField + "clientConnection.contentType",
	"profiling": schedulerField + "enableProfiling", "contention-profiling": schedulerField + "enableContentionProfiling", "leader-elect-resource-lock": schedulerField + "leaderElection.resourceLock",
	"pod-max-in-unschedulable-pods-duration": "pods are retried when a change may make them schedulable; scheduler.auditEverySeconds of a BerthConfiguration is the interval of checks",
	"write-config-to":                        "/configz of --metrics-bind-address shows the effective configuration",
	"policy-config-file":                     "scheduler policies were removed in Kubernetes 1.23; use a KubeSchedulerConfiguration",
	"algorithm-provider":                     "algorithm providers were removed in Kubernetes 1.23; use a KubeSchedulerConfiguration", "scheduler-name": schedulerField + "profiles[].schedulerName",
}

// controllerManagerFlags are kube-controller-manager's flags that `berth controller` does not have.
var controllerManagerFlags = map[string]string{
	"bind-address": useMetrics, "secure-port": useMetrics, "address": useMetrics, "port": useMetrics, "master": useKubeconfig, "leader-elect-resource-lock": leaseOnly,
	"controllers": "name the controllers as arguments; all run by default", "use-service-account-credentials": "the controllers use the credential of --kubeconfig", "kube-api-burst": "the API server limits requests",
	"kube-api-qps": "the API server limits requests", "kube-api-content-type": noOption, "profiling": noOption, "contention-profiling": noOption, "min-resync-period": noOption,
	"controller-start-interval": noOption, "controller-shutdown-timeout": noOption, "cluster-name": noOption, "leader-migration-config": noOption, "enable-leader-migration": noOption,

	"node-monitor-grace-period": berthField + "nodeLifecycle.gracePeriodSeconds", "node-startup-grace-period": berthField + "nodeLifecycle.startupGraceSeconds",
	"node-monitor-period": berthField + "nodeLifecycle.monitorPeriodSeconds", "node-eviction-rate": berthField + "nodeLifecycle.evictionRate",
	"secondary-node-eviction-rate": berthField + "nodeLifecycle.secondaryEvictionRate", "large-cluster-size-threshold": berthField + "nodeLifecycle.largeZoneNodes",
	"unhealthy-zone-threshold": berthField + "nodeLifecycle.unhealthyZoneThreshold", "terminated-pod-gc-threshold": berthField + "podGC.terminatedThreshold",
	"pod-eviction-timeout": "pods are evicted from an unreachable node after their toleration of node.kubernetes.io/unreachable (--default-unreachable-toleration-seconds of `berth up` and `berth server`)",

	"cidr-allocator-type": "ranges are allocated from --cluster-cidr", "node-cidr-mask-size-ipv4": "use --node-cidr-mask-size: pods have IPv4 addresses", "node-cidr-mask-size-ipv6": "pods have IPv4 addresses",
	"allow-untagged-cloud": noCloudController, "cloud-config": noCloudController, "cloud-provider": noCloudController, "configure-cloud-routes": noCloudController, "external-cloud-volume-plugin": noCloudController, "node-sync-period": noCloudController,
	"node-status-update-frequency": noCloudController, "route-reconciliation-period": noCloudController, "concurrent-node-status-updates": noCloudController, "concurrent-node-syncs": noCloudController, "concurrent-service-syncs": noCloudController,

	"cluster-signing-cert-file": noSigning, "cluster-signing-duration": noSigning, "cluster-signing-key-file": noSigning, "cluster-signing-kube-apiserver-client-cert-file": noSigning,
	"cluster-signing-kube-apiserver-client-key-file": noSigning, "cluster-signing-kubelet-client-cert-file": noSigning, "cluster-signing-kubelet-client-key-file": noSigning,
	"cluster-signing-kubelet-serving-cert-file": noSigning, "cluster-signing-kubelet-serving-key-file": noSigning, "cluster-signing-legacy-unknown-cert-file": noSigning,
	"cluster-signing-legacy-unknown-key-file": noSigning, "root-ca-file": "pods get the CA of --kubeconfig", "service-account-private-key-file": "the API server signs tokens of service accounts",
	"legacy-service-account-token-clean-up-period": noOption,

	"concurrent-cron-job-syncs": noConcurrency, "concurrent-daemonset-syncs": noConcurrency, "concurrent-deployment-syncs": noConcurrency, "concurrent-device-taint-eviction-syncs": noConcurrency,
	"concurrent-endpoint-syncs": noConcurrency, "concurrent-ephemeralvolume-syncs": noConcurrency, "concurrent-gc-syncs": noConcurrency, "concurrent-horizontal-pod-autoscaler-syncs": noConcurrency,
	"concurrent-job-syncs": noConcurrency, "concurrent-namespace-syncs": noConcurrency, "concurrent-rc-syncs": noConcurrency, "concurrent-replicaset-syncs": noConcurrency,
	"concurrent-resource-quota-syncs": noConcurrency, "concurrent-resourceclaim-syncs": noConcurrency, "concurrent-service-endpoint-syncs": noConcurrency,
	"concurrent-serviceaccount-token-syncs": noConcurrency, "concurrent-statefulset-syncs": noConcurrency, "concurrent-ttl-after-finished-syncs": noConcurrency,
	"concurrent-validating-admission-policy-status-syncs": noConcurrency, "mirroring-concurrent-service-endpoint-syncs": noConcurrency,

	"attach-detach-reconcile-sync-period": noAttach, "disable-attach-detach-reconcile-sync": noAttach, "disable-force-detach-on-timeout": noAttach, "flex-volume-plugin-dir": noAttach,
	"enable-dynamic-provisioning": "use --volume-directory", "enable-hostpath-provisioner": "use --volume-directory", "pvclaimbinder-sync-period": noOption,
	"pv-recycler-increment-timeout-nfs": noRecycler, "pv-recycler-minimum-timeout-hostpath": noRecycler, "pv-recycler-minimum-timeout-nfs": noRecycler,
	"pv-recycler-pod-template-filepath-hostpath": noRecycler, "pv-recycler-pod-template-filepath-nfs": noRecycler, "pv-recycler-timeout-increment-hostpath": noRecycler,

	"enable-garbage-collector": "omit the argument garbagecollector to run without garbage collection", "endpoint-updates-batch-period": noOption, "endpointslice-updates-batch-period": noOption,
	"mirroring-endpointslice-updates-batch-period": noOption, "max-endpoints-per-slice": noOption, "mirroring-max-endpoints-per-subset": noOption, "namespace-sync-period": noOption, "resource-quota-sync-period": noOption,
	"horizontal-pod-autoscaler-cpu-initialization-period": noOption, "horizontal-pod-autoscaler-downscale-stabilization": noOption, "horizontal-pod-autoscaler-initial-readiness-delay": noOption,
	"horizontal-pod-autoscaler-sync-period": noOption, "horizontal-pod-autoscaler-tolerance": noOption,

	"webhook-bind-address": noWebhooks, "webhook-cert-dir": noWebhooks, "webhook-disable-http2-serving": noWebhooks, "webhook-secure-port": noWebhooks, "webhook-tls-cert-file": noWebhooks,
	"webhook-tls-cipher-suites": noWebhooks, "webhook-tls-curve-preferences": noWebhooks, "webhook-tls-min-version": noWebhooks, "webhook-tls-private-key-file": noWebhooks, "webhook-tls-sni-cert-key": noWebhooks, "webhooks": noWebhooks,
}

// Hints that several flags share.
const (
	noCloudController = "there is no cloud provider"
	noSigning         = "`berth credentials` issues certificates"
	noAttach          = "volumes are not attached to nodes"
	noRecycler        = "volumes are not recycled; the reclaim policies are Retain and Delete"
	noWebhooks        = "the controllers serve no webhooks"
)

// deschedulerFlags are the Kubernetes descheduler's flags that `berth descheduler` does not have.
var deschedulerFlags = map[string]string{
	"node-selector": policyField + "nodeSelector", "evict-local-storage-pods": policyField + "the arguments of the plugin DefaultEvictor", "max-pods-to-evict-per-node": policyField + "maxNoOfPodsToEvictPerNode",
	"enable-http2": noServingOption, "leader-elect-resource-lock": leaseOnly, "http-bind-address": "use --bind-address",
	"otel-collector-endpoint": noTracing, "otel-transport-ca-cert": noTracing, "otel-service-name": noTracing, "otel-trace-namespace": noTracing, "otel-sample-rate": noTracing,
	"otel-fallback-no-op-on-failed": noTracing,
}

// Hints that several flags share.
const (
	policyField = "the policy of --policy-config-file has "
	noTracing   = "there is no tracing; `berth evictions` and the journal show what was moved and why"
)
