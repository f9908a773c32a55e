package datapipeline

import (
	"context"

	"millrace/tfbridge"
)

// StagingSize returns how many batches are in a provider's staging area.
func StagingSize(p *QueueDataProvider, session *tfbridge.Session) (int, error) {
	return p.stage.StagingSize(context.Background(), session)
}

// Batches returns the tensors of the next batch of a provider's third level, which a run
// takes past the staging area.
func Batches(p *QueueDataProvider) map[string]tfbridge.Output { return p.batches.Output }

// BatchQueueSize returns how many batches are in a provider's third level.
func BatchQueueSize(p *QueueDataProvider, session *tfbridge.Session) (int, error) {
	return p.batches.BatchQueueSize(context.Background(), session)
}
