package kinds

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/batch"
)

// batchKinds returns the kinds of batch/v1.
func batchKinds() []Kind {
	gv := batchv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Job", Resource: "jobs", Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &batchv1.Job{} },
			NewList: func() runtime.Object { return &batchv1.JobList{} },
			Hooks: typedHooks[*batchv1.Job]{
				Default:       batch.DefaultJob,
				PrepareCreate: batch.PrepareJobForCreate, PrepareUpdate: batch.PrepareJobForUpdate,
				Validate: batch.ValidateJob, ValidateUpdate: batch.ValidateJobUpdate, ValidateStatus: batch.ValidateJobStatusUpdate,
				Warnings: batch.JobWarnings,
			}.hooks(),
			HasStatus: true, OrphansByDefault: true, Generation: CountedGeneration,
			Fields: jobFields,
		},
		{
			GroupVersion: gv, Kind: "CronJob", Resource: "cronjobs", ShortNames: []string{"cj"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &batchv1.CronJob{} },
			NewList: func() runtime.Object { return &batchv1.CronJobList{} },
			Hooks: typedHooks[*batchv1.CronJob]{
				Default:       batch.DefaultCronJob,
				PrepareCreate: batch.PrepareCronJobForCreate, PrepareUpdate: batch.PrepareCronJobForUpdate,
				Validate: batch.ValidateCronJob, ValidateUpdate: batch.ValidateCronJobUpdate,
				Warnings: batch.CronJobWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
	}
}
