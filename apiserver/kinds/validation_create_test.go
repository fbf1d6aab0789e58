package kinds

import "testing"

// TestCreate validates new objects of many kinds. The errors are those of kube-apiserver.
func TestCreate(t *testing.T) {
	for text, want := range map[string]string{
		`v1 Node {"spec":{"podCIDRs":["10.0.0.0/24","10.0.1.0/24"]}}`:                                                     "spec.podCIDRs: may specify no more than one CIDR for each IP family",
		`v1 Node {"spec":{"taints":[{"key":"k"}]}}`:                                                                       "metadata.taints[0].effect: ",
		`v1 Node {"status":{"capacity":{"example.com/gpu":"1500m"}}}`:                                                     "status.capacity.example.com/gpu: must be an integer; status.allocatable.example.com/gpu: must be an integer",
		`v1 Namespace {"metadata":{"name":"a.b"}}`:                                                                        "metadata.name: must not contain dots",
		`v1 Namespace {"spec":{"finalizers":["x"]}}`:                                                                      "spec.finalizers[0]: name is neither a standard finalizer name nor is it fully qualified",
		`v1 ConfigMap {"data":{"k":"v"},"binaryData":{"k":"dg=="}}`:                                                       "data[k]: duplicate of key present in binaryData",
		`v1 ConfigMap {"metadata":{"finalizers":["x"]}}`:                                                                  "metadata.finalizers[0]: name is neither a standard finalizer name nor is it fully qualified",
		`v1 Secret {"type":"kubernetes.io/tls"}`:                                                                          "data[tls.crt]: ; data[tls.key]: ",
		`v1 Secret {"type":"kubernetes.io/ssh-auth"}`:                                                                     "data[ssh-privatekey]: ",
		`v1 Secret {"type":"kubernetes.io/dockercfg","data":{".dockercfg":"eA=="}}`:                                       "data[.dockercfg]: invalid character 'x' looking for beginning of value",
		`v1 Event {"involvedObject":{"kind":"Node","name":"n"}}`:                                                          "involvedObject.namespace: does not match event.namespace",
		`v1 Service {"spec":{}}`:                                                                                          "spec.ports: ",
		`v1 Service {"spec":{"ports":[{"port":80},{"port":81}]}}`:                                                         "spec.ports[0].name: ; spec.ports[1].name: ",
		`v1 Service {"spec":{"ports":[{"port":80,"nodePort":30000}]}}`:                                                    "spec.ports[0].nodePort: may not be used when `type` is 'ClusterIP'",
		`v1 Service {"spec":{"type":"NodePort","clusterIP":"None","ports":[{"port":80}]}}`:                                "spec.clusterIPs[0]: may not be set to 'None' for NodePort services",
		`v1 Service {"spec":{"externalIPs":["127.0.0.1"],"ports":[{"port":80}]}}`:                                         "spec.externalIPs[0]: may not be in the loopback range (127.0.0.0/8, ::1/128)",
		`v1 Service {"spec":{"type":"LoadBalancer","ports":[{"port":10250}]}}`:                                            "spec.ports[0]: may not expose port 10250 externally since it is used by kubelet",
		`v1 Endpoints {"subsets":[{"ports":[{"port":80}]}]}`:                                                              "subsets[0]: must specify `addresses` or `notReadyAddresses`",
		`discovery.k8s.io/v1 EndpointSlice {"addressType":"IPv6","endpoints":[{"addresses":["10.0.0.1"]}]}`:               "endpoints[0].addresses[0]: must be an IPv6 address",
		`v1 PersistentVolume {"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1"},"local":{"path":"/d"}}}`: "spec.nodeAffinity: Local volume requires node affinity",
		`v1 PersistentVolume {"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1"}}}`:                       "spec: must specify a volume type",
		`v1 PersistentVolumeClaim {"spec":{"accessModes":["ReadWriteOnce"]}}`:                                             "spec.resources[storage]: ",
		`v1 LimitRange {"spec":{"limits":[{"type":"Pod","min":{"cpu":"2"},"max":{"cpu":"1"}}]}}`:                          "spec.limits[0].min[cpu]: min value 2 is greater than max value 1",
		`v1 ResourceQuota {"spec":{"hard":{"foo":"1"}}}`:                                                                  "spec.hard[foo]: must be a standard resource for quota",
		`v1 ReplicationController {}`:                                                                                     "spec.selector: ; spec.template: ",
		`storage.k8s.io/v1 StorageClass {"provisioner":"a/b","volumeBindingMode":"Later"}`:                                `volumeBindingMode: supported values: "Immediate", "WaitForFirstConsumer"`,
		`storage.k8s.io/v1 CSINode {"spec":{"drivers":[{"name":"a","nodeID":"n"},{"name":"a","nodeID":"n"}]}}`:            "spec.drivers[1].name: ",
		`storage.k8s.io/v1 VolumeAttachment {"spec":{"attacher":"a","nodeName":"n","source":{}}}`:                         "spec.source: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
		`storage.k8s.io/v1 CSIStorageCapacity {"storageClassName":"s","capacity":"-1"}`:                                   "capacity: must be greater than or equal to 0",
		`scheduling.k8s.io/v1 PriorityClass {"value":1000000001}`:                                                         "value: maximum allowed value of a user defined priority is 1000000000",
		`scheduling.k8s.io/v1 PriorityClass {"metadata":{"name":"system-x"}}`:                                             "metadata.name: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
		`policy/v1 PodDisruptionBudget {"spec":{"minAvailable":1,"maxUnavailable":1}}`:                                    "spec: minAvailable and maxUnavailable cannot be both set",
		`policy/v1 PodDisruptionBudget {"spec":{"minAvailable":"101%"}}`:                                                  "spec.minAvailable: must not be greater than 100%",
		`policy/v1 PodDisruptionBudget {}`:                                                                                "",
		`coordination.k8s.io/v1 Lease {"spec":{"leaseDurationSeconds":0}}`:                                                "spec.leaseDurationSeconds: must be greater than 0",
		`node.k8s.io/v1 RuntimeClass {"handler":"a.b"}`:                                                                   "handler: must not contain dots",
		`resource.k8s.io/v1 ResourceClaim {"spec":{"devices":{"requests":[{"name":"r"}]}}}`:                               "spec.devices.requests[0]: exactly one of `exactly` or `firstAvailable` is required",
		`resource.k8s.io/v1 ResourceSlice {"spec":{"driver":"d","pool":{"name":"p"}}}`:                                    "spec.pool.resourceSliceCount: must be greater than zero",
		`apps/v1 ReplicaSet {"spec":{` + template + `}}`:                                                                  "spec.selector: ; spec.template.metadata.labels: `selector` does not match template `labels`",
		`apps/v1 Deployment {"spec":{"minReadySeconds":5,"progressDeadlineSeconds":5,` + workload + `}}`:                  "spec.progressDeadlineSeconds: must be greater than minReadySeconds",
		`apps/v1 Deployment {"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":0,"maxSurge":0}},` + workload + `}}`:   "spec.strategy.rollingUpdate.maxUnavailable: may not be 0 when `maxSurge` is 0",
		`apps/v1 DaemonSet {"spec":{"updateStrategy":{"rollingUpdate":{"maxSurge":1}},` + workload + `}}`:                 "spec.updateStrategy.rollingUpdate.maxSurge: may not be set when maxUnavailable is non-zero",
		`apps/v1 DaemonSet {"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"0%"}},` + workload + `}}`:        "spec.updateStrategy.rollingUpdate.maxUnavailable: cannot be 0 when maxSurge is 0",
		`apps/v1 StatefulSet {"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"app:1","volumeMounts":[{"name":"d","mountPath":"/d"}]}]}},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}`: "",
		`apps/v1 StatefulSet {"metadata":{"name":"a.b"},"spec":{` + workload + `}}`:                                              "metadata.name: must not contain dots",
		`apps/v1 StatefulSet {"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":{}},` + workload + `}}`:                "spec.updateStrategy.rollingUpdate: only allowed for updateStrategy 'RollingUpdate'",
		`apps/v1 ControllerRevision {"revision":-1}`:                                                                             "data: data is mandatory; revision: must be greater than or equal to 0",
		`batch/v1 Job {"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a"}]}}}}`:                                  `spec.template.spec.restartPolicy: valid values: "OnFailure", "Never"`,
		`batch/v1 Job {"spec":{"backoffLimitPerIndex":1,` + jobPod + `}}`:                                                        "spec.backoffLimitPerIndex: requires indexed completion mode",
		`batch/v1 Job {"spec":{"podFailurePolicy":{"rules":[{"action":"Ignore"}]},` + jobPod + `}}`:                              "spec.podFailurePolicy.rules[0]: specifying one of OnExitCodes and OnPodConditions is required",
		`batch/v1 Job {"spec":{"completionMode":"Indexed","successPolicy":{"rules":[{"succeededIndexes":"1"}]},` + jobPod + `}}`: `spec.successPolicy.rules[0].succeededIndexes: error parsing succeededIndexes: too large index: "1"`,
		`batch/v1 Job {"spec":{"selector":{"matchLabels":{"a":"b"}},` + jobPod + `}}`:                                            "spec.selector: `selector` not auto-generated; spec.template.metadata.labels: `selector` does not match template `labels`",
		`batch/v1 CronJob {"spec":{"schedule":"60 * * * *","jobTemplate":{"spec":{` + jobPod + `}}}}`:                            "spec.schedule: end of range (60) above maximum (59): 60",
	} {
		if _, got := createObject(t, text); got != want {
			t.Errorf("%s\n got %q\n want %q", text, got, want)
		}
	}
}
