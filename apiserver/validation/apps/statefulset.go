package apps

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/validation/checks"
	"github.com/berthproject/berth/apiserver/validation/storage"
)

// DefaultStatefulSet sets replicas, policies and the defaults of claim templates.
func DefaultStatefulSet(ss *appsv1.StatefulSet) {
	spec := &ss.Spec
	defaulting.Set(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		defaulting.SetPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && spec.UpdateStrategy.RollingUpdate != nil {
		defaulting.SetPointer(&spec.UpdateStrategy.RollingUpdate.Partition, 0)
	}
	defaulting.SetPointer(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	defaulting.Set(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaulting.Set(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaulting.SetPointer(&spec.Replicas, 1)
	defaulting.SetPointer(&spec.RevisionHistoryLimit, 10)
	poddefaults.DefaultPodTemplate(&spec.Template)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		storage.DefaultPersistentVolumeClaim(claim)
		// Clients expect claim templates to have apiVersion and kind.
		defaulting.Set(&claim.APIVersion, "v1")
		defaulting.Set(&claim.Kind, "PersistentVolumeClaim")
	}
}

// PrepareStatefulSetForCreate clears fields of disabled feature gates, including maxUnavailable.
func PrepareStatefulSetForCreate(ss *appsv1.StatefulSet) {
	podstrategy.PrepareTemplate(&ss.Spec.Template, nil)
	dropMaxUnavailable(ss, nil)
}

// PrepareStatefulSetForUpdate clears the same fields unless the stored object uses them.
func PrepareStatefulSetForUpdate(ss, old *appsv1.StatefulSet) {
	podstrategy.PrepareTemplate(&ss.Spec.Template, &old.Spec.Template)
	dropMaxUnavailable(ss, old)
}

func dropMaxUnavailable(ss, old *appsv1.StatefulSet) {
	if old != nil && old.Spec.UpdateStrategy.RollingUpdate != nil && old.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != nil {
		return
	}
	if r := ss.Spec.UpdateStrategy.RollingUpdate; r != nil {
		r.MaxUnavailable = nil
	}
}

// ValidateStatefulSet validates a new StatefulSet. The name is a DNS label, because it is part of
// hostnames. Service name and claim templates are not validated on update, because stored objects
// may be invalid.
func ValidateStatefulSet(ss *appsv1.StatefulSet) field.ErrorList {
	errs := append(checks.ObjectMeta(&ss.ObjectMeta, true, apivalidation.NameIsDNSLabel), validateStatefulSetSpec(&ss.Spec, false)...)
	if name := ss.Spec.ServiceName; name != "" {
		errs = append(errs, checks.DNSLabel(name, field.NewPath("spec", "serviceName"))...)
	}
	for i := range ss.Spec.VolumeClaimTemplates {
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("spec")
		errs = append(errs, podvalidation.ValidatePersistentVolumeClaimSpec(&ss.Spec.VolumeClaimTemplates[i].Spec, path)...)
	}
	return errs
}

// ValidateStatefulSetUpdate validates an update. Seven fields of the spec are mutable.
func ValidateStatefulSetUpdate(ss, old *appsv1.StatefulSet) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&ss.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateStatefulSetSpec(&ss.Spec, hasInvalidSelector(old.Spec.Selector))...)
	spec := ss.Spec.DeepCopy()
	spec.Replicas = old.Spec.Replicas
	spec.Template = old.Spec.Template
	spec.UpdateStrategy = old.Spec.UpdateStrategy
	spec.MinReadySeconds = old.Spec.MinReadySeconds
	spec.Ordinals = old.Spec.Ordinals
	spec.RevisionHistoryLimit = old.Spec.RevisionHistoryLimit
	spec.PersistentVolumeClaimRetentionPolicy = old.Spec.PersistentVolumeClaimRetentionPolicy
	if !checks.SemanticEqual(*spec, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
	}
	return errs
}

func validateStatefulSetSpec(spec *appsv1.StatefulSetSpec, allowInvalidLabels bool) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	switch spec.PodManagementPolicy {
	case "":
		errs = append(errs, field.Required(path.Child("podManagementPolicy"), ""))
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		errs = append(errs, field.Invalid(path.Child("podManagementPolicy"), spec.PodManagementPolicy,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)))
	}
	errs = append(errs, validateStatefulSetStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	errs = append(errs, validateClaimRetention(spec.PersistentVolumeClaimRetentionPolicy, path.Child("persistentVolumeClaimRetentionPolicy"))...)
	errs = append(errs, checks.NonNegativeIfSet(spec.Replicas, path.Child("replicas"))...)
	errs = append(errs, checks.NonNegative(spec.MinReadySeconds, path.Child("minReadySeconds"))...)
	if spec.Ordinals != nil {
		errs = append(errs, checks.NonNegative(spec.Ordinals.Start, path.Child("ordinals", "start"))...)
	}
	errs = append(errs, checks.RequiredSelector(spec.Selector, allowInvalidLabels, "statefulset", path.Child("selector"))...)
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, ""))
	} else {
		errs = append(errs, checks.MatchingTemplate(selector, &spec.Template, path.Child("template"))...)
		errs = append(errs, podvalidation.ValidatePodTemplateSpec(templateWithClaimVolumes(spec), path.Child("template"))...)
	}
	return append(errs, checks.AlwaysRestartTemplate(&spec.Template, "StatefulSet", path.Child("template"))...)
}

// templateWithClaimVolumes returns the template with a volume for each claim template, which
// containers may mount.
func templateWithClaimVolumes(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	template := spec.Template
	template.Spec.Volumes = slices.Clone(template.Spec.Volumes)
	for _, claim := range spec.VolumeClaimTemplates {
		hasName := func(v corev1.Volume) bool { return v.Name == claim.Name }
		if claim.Name != "" && !slices.ContainsFunc(template.Spec.Volumes, hasName) {
			template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: claim.Name,
				VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
		}
	}
	return &template
}

func validateStatefulSetStrategy(strategy *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	rollingPath := path.Child("rollingUpdate")
	switch strategy.Type {
	case "":
		return field.ErrorList{field.Required(path, "")}
	case appsv1.OnDeleteStatefulSetStrategyType:
		if strategy.RollingUpdate != nil {
			return field.ErrorList{field.Invalid(rollingPath, strategy.RollingUpdate,
				fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType))}
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if strategy.RollingUpdate == nil {
			return nil
		}
		errs := checks.NonNegativeIfSet(strategy.RollingUpdate.Partition, rollingPath.Child("partition"))
		if n := strategy.RollingUpdate.MaxUnavailable; n != nil {
			errs = append(errs, checks.CountOrPercent(*n, rollingPath.Child("maxUnavailable"))...)
			if checks.IsZeroCount(*n) {
				errs = append(errs, field.Invalid(rollingPath.Child("maxUnavailable"), *n, "cannot be 0"))
			}
			errs = append(errs, checks.NotAbove100Percent(*n, rollingPath.Child("maxUnavailable"))...)
		}
		return errs
	}
	printable := struct {
		Type          appsv1.StatefulSetUpdateStrategyType
		RollingUpdate *appsv1.RollingUpdateStatefulSetStrategy
	}{strategy.Type, strategy.RollingUpdate}
	return field.ErrorList{field.Invalid(path, printable,
		fmt.Sprintf("must be '%s' or '%s'", appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType))}
}

func validateClaimRetention(policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	retain, remove := appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	errs := checks.OneOf(policy.WhenDeleted, path.Child("whenDeleted"), retain, remove)
	return append(errs, checks.OneOf(policy.WhenScaled, path.Child("whenScaled"), retain, remove)...)
}

// ValidateStatefulSetStatusUpdate validates the counts and the metadata.
func ValidateStatefulSetStatusUpdate(ss, old *appsv1.StatefulSet) field.ErrorList {
	path, s := field.NewPath("status"), ss.Status
	errs := checks.NonNegative(s.Replicas, path.Child("replicas"))
	errs = append(errs, checks.NonNegative(s.ReadyReplicas, path.Child("readyReplicas"))...)
	errs = append(errs, checks.NonNegative(s.CurrentReplicas, path.Child("currentReplicas"))...)
	errs = append(errs, checks.NonNegative(s.UpdatedReplicas, path.Child("updatedReplicas"))...)
	errs = append(errs, checks.NonNegative(s.AvailableReplicas, path.Child("availableReplicas"))...)
	errs = append(errs, checks.NonNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	errs = append(errs, checks.NonNegativeIfSet(s.CollisionCount, path.Child("collisionCount"))...)
	errs = append(errs, checks.NotGreaterThan(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.CurrentReplicas, s.Replicas, path.Child("currentReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.UpdatedReplicas, s.Replicas, path.Child("updatedReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"), "status.replicas")...)
	errs = append(errs, checks.NotGreaterThan(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"), "status.readyReplicas")...)
	errs = append(errs, checks.ObjectMetaUpdate(&ss.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, checks.NotDecremented(s.CollisionCount, old.Status.CollisionCount, path.Child("collisionCount"))...)
}

// StatefulSetWarnings warns of the name, the template, claim templates and an unlimited history.
func StatefulSetWarnings(ctx context.Context, ss, old *appsv1.StatefulSet) []string {
	var warnings []string
	if old == nil {
		warnings = append(checks.NameWarning(ss.Name), checks.TemplateWarnings(ctx, &ss.Spec.Template, nil, true)...)
	} else {
		warnings = checks.TemplateWarnings(ctx, &ss.Spec.Template, &old.Spec.Template, !checks.SemanticEqual(ss.Spec, old.Spec))
	}
	for i, claim := range ss.Spec.VolumeClaimTemplates {
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("spec")
		warnings = append(warnings, storage.ClaimSpecWarnings(&claim.Spec, path)...)
	}
	if n := ss.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		warnings = append(warnings, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return warnings
}
