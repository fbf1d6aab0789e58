package poddefaults

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

func defaultContainer(c *corev1.Container) {
	podfields.SetDefault(&c.ImagePullPolicy, pullPolicyFor(c.Image))
	podfields.SetDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	podfields.SetDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		podfields.SetDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		defaultEnv(c.Env[i].ValueFrom)
	}
	DefaultResourceList(c.Resources.Limits)
	DefaultResourceList(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		if c.Lifecycle.PostStart != nil {
			defaultHTTPGet(c.Lifecycle.PostStart.HTTPGet)
		}
		if c.Lifecycle.PreStop != nil {
			defaultHTTPGet(c.Lifecycle.PreStop.HTTPGet)
		}
	}
}

// pullPolicyFor returns Always for images without tag and digest or with the tag latest, and
// IfNotPresent for all others, including names that do not parse.
func pullPolicyFor(image string) corev1.PullPolicy {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return corev1.PullIfNotPresent
	}
	if reference.IsNameOnly(named) {
		return corev1.PullAlways
	}
	if tagged, ok := named.(reference.Tagged); ok && tagged.Tag() == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultEnv(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	defaultFieldRef(source.FieldRef)
	if source.FileKeyRef != nil {
		podfields.SetDefaultPtr(&source.FileKeyRef.Optional, false)
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		podfields.SetDefault(&ref.APIVersion, "v1")
	}
}

func defaultProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	podfields.SetDefault(&probe.TimeoutSeconds, 1)
	podfields.SetDefault(&probe.PeriodSeconds, 10)
	podfields.SetDefault(&probe.SuccessThreshold, 1)
	podfields.SetDefault(&probe.FailureThreshold, 3)
	defaultHTTPGet(probe.HTTPGet)
	if probe.GRPC != nil {
		podfields.SetDefaultPtr(&probe.GRPC.Service, "")
	}
}

func defaultHTTPGet(action *corev1.HTTPGetAction) {
	if action == nil {
		return
	}
	podfields.SetDefault(&action.Path, "/")
	podfields.SetDefault(&action.Scheme, corev1.URISchemeHTTP)
}
