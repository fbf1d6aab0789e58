package kinds

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation"
)

// batchKinds returns the kinds of batch/v1.
func batchKinds() []Kind {
	gv := batchv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Job", Resource: "jobs", Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &batchv1.Job{} },
			NewList: func() runtime.Object { return &batchv1.JobList{} },
			Hooks: typed[*batchv1.Job]{
				Default:       validation.DefaultJob,
				PrepareCreate: validation.PrepareJobForCreate, PrepareUpdate: validation.PrepareJobForUpdate,
				Validate: validation.ValidateJob, ValidateUpdate: validation.ValidateJobUpdate, ValidateStatus: validation.ValidateJobStatusUpdate,
				Warnings: validation.JobWarnings,
			}.hooks(),
			HasStatus: true, OrphansByDefault: true, Generation: CountedGeneration,
			Fields: jobFields,
		},
		{
			GroupVersion: gv, Kind: "CronJob", Resource: "cronjobs", ShortNames: []string{"cj"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &batchv1.CronJob{} },
			NewList: func() runtime.Object { return &batchv1.CronJobList{} },
			Hooks: typed[*batchv1.CronJob]{
				Default:       validation.DefaultCronJob,
				PrepareCreate: validation.PrepareCronJobForCreate, PrepareUpdate: validation.PrepareCronJobForUpdate,
				Validate: validation.ValidateCronJob, ValidateUpdate: validation.ValidateCronJobUpdate,
				Warnings: validation.CronJobWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
	}
}
