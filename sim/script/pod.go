package script

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// podLine is a pod, or a workload whose template is the pod.
type podLine struct {
	*corev1.Pod
	replicas int32
	parallel bool
}

func newPodLine(name string) *podLine {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}}
	return &podLine{Pod: p, replicas: 1}
}

var readPod = creates("pod", podWords, newPodLine, func(l *podLine, _ *tokens) store.Object {
	store.ApplyDefaults(l.Pod)
	return l.Pod
})

var podWords = words[*podLine]{
	{"cpu=", setRequest(corev1.ResourceCPU)},
	{"memory=", setRequest(corev1.ResourceMemory)},
	{"storage=", setRequest(corev1.ResourceEphemeralStorage)},
	{"res=", func(l *podLine, v value) { v.resources(l.container().Resources.Requests) }},
	{"priority=", func(l *podLine, v value) { l.Spec.Priority = new(int32(v.number(-1<<31, 2_000_001_000))) }},
	{"class=", func(l *podLine, v value) { l.Spec.PriorityClassName = v.text }},
	{"never", func(l *podLine, _ value) { l.Spec.PreemptionPolicy = new(corev1.PreemptNever) }},
	{"labels=", func(l *podLine, v value) { l.Labels = v.labels() }},
	{"ns=", setNamespace[*podLine]},
	{"node=", func(l *podLine, v value) { l.Spec.NodeName = v.text }},
	{"selector=", func(l *podLine, v value) { l.Spec.NodeSelector = v.labels() }},
	{"tolerate=", func(l *podLine, v value) { l.Spec.Tolerations = parseTolerations(v.list()) }},
	{"spread=", func(l *podLine, v value) { l.Spec.TopologySpreadConstraints = v.spreadConstraints() }},
	{"affinity=", func(l *podLine, v value) {
		l.podAffinity().RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{v.affinityTerm()}
	}},
	{"anti=", func(l *podLine, v value) {
		l.podAntiAffinity().RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{v.affinityTerm()}
	}},
	{"prefer=", func(l *podLine, v value) {
		l.affinity().NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: v.preferredNodes()}
	}},
	{"prefer-affinity=", func(l *podLine, v value) {
		l.podAffinity().PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: weight, PodAffinityTerm: v.affinityTerm()}}
	}},
	{"prefer-anti=", func(l *podLine, v value) {
		l.podAntiAffinity().PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: weight, PodAffinityTerm: v.affinityTerm()}}
	}},
	{"gates=", func(l *podLine, v value) {
		for _, g := range v.list() {
			l.Spec.SchedulingGates = append(l.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: g})
		}
	}},
	{"claims=", func(l *podLine, v value) {
		for i, c := range v.list() {
			source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}}
			l.Spec.Volumes = append(l.Spec.Volumes, corev1.Volume{Name: "v" + strconv.Itoa(i), VolumeSource: source})
		}
	}},
	{"ports=", func(l *podLine, v value) { l.container().Ports = v.ports() }},
	{"scheduler=", func(l *podLine, v value) { l.Spec.SchedulerName = v.text }},
	{"owner=", func(l *podLine, v value) { l.OwnerReferences = fakeowners.References(v.text) }},
	{"replace", func(l *podLine, _ value) {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, fakeowners.ReplaceAnnotation, "true")
	}},
	{"grace=", func(l *podLine, v value) { l.Spec.TerminationGracePeriodSeconds = v.seconds() }},
	{"starts=", annotateSeconds(simulated.StartSeconds)},
	{"prestop=", func(l *podLine, v value) {
		l.container().Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: *v.seconds()}}}
	}},
	{"runs=", annotateSeconds(simulated.RunSeconds)},
	{"exit=", func(l *podLine, v value) {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, simulated.ExitCode, strconv.FormatInt(v.number(0, 255), 10))
	}},
	{"stops=", annotateSeconds(simulated.StopSeconds)},
	{"restart=", func(l *podLine, v value) {
		l.Spec.RestartPolicy = corev1.RestartPolicy(v.text)
		if !slices.Contains([]corev1.RestartPolicy{"", corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}, l.Spec.RestartPolicy) {
			v.invalid("Always, OnFailure or Never")
		}
	}},
	{"usage=", func(l *podLine, v value) {
		_, err := usage.ParsePod(v.text)
		v.annotate(&l.ObjectMeta, usage.Annotation, err)
	}},
	{"storagelimit=", func(l *podLine, v value) {
		l.container().Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: v.quantity()}
	}},
	{"emptydir=", func(l *podLine, v value) { l.Spec.Volumes = append(l.Spec.Volumes, v.emptyDirs()...) }},
	{"containers=", func(l *podLine, v value) {
		for i := range v.number(1, 10) - 1 {
			c := *l.container().DeepCopy()
			c.Name += strconv.FormatInt(i+2, 10)
			l.Spec.Containers = append(l.Spec.Containers, c)
		}
	}},
}

// container returns the first container.
func (l *podLine) container() *corev1.Container { return &l.Spec.Containers[0] }

func setRequest(name corev1.ResourceName) func(*podLine, value) {
	return func(l *podLine, v value) { l.container().Resources.Requests[name] = v.quantity() }
}

func annotateSeconds(annotation string) func(*podLine, value) {
	return func(l *podLine, v value) {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, annotation, strconv.FormatFloat(v.duration().Seconds(), 'f', -1, 64))
	}
}

func (v value) ports() (out []corev1.ContainerPort) {
	for _, s := range v.list() {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n < 1 || n > 65535 {
			v.invalid("ports from 1 to 65535, such as 80,443")
		}
		out = append(out, corev1.ContainerPort{ContainerPort: int32(n), HostPort: int32(n), Protocol: corev1.ProtocolTCP})
	}
	return out
}

// emptyDirs reads emptyDirs as NAME or NAME:SIZE.
func (v value) emptyDirs() (out []corev1.Volume) {
	for _, e := range v.list() {
		name, size, hasSize := strings.Cut(e, ":")
		source := &corev1.EmptyDirVolumeSource{}
		if hasSize {
			q, err := resource.ParseQuantity(size)
			if err != nil {
				v.invalid("names such as data, or with a size such as data:1Gi")
			}
			source.SizeLimit = &q
		}
		out = append(out, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}})
	}
	return out
}

// parseTolerations reads key[=value][:effect[:seconds]]; * tolerates everything.
func parseTolerations(list []string) (out []corev1.Toleration) {
	for _, s := range list {
		pair, effect, _ := strings.Cut(s, ":")
		effect, seconds, hasTime := strings.Cut(effect, ":")
		k, v, hasValue := strings.Cut(pair, "=")
		t := corev1.Toleration{Key: k, Value: v, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
		if hasValue {
			t.Operator = corev1.TolerationOpEqual
		}
		if n, err := strconv.ParseInt(seconds, 10, 64); hasTime && err == nil {
			t.TolerationSeconds = &n
		}
		if k == "*" {
			t.Key = ""
		}
		out = append(out, t)
	}
	return out
}
