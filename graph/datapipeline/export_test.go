package datapipeline

import (
	"context"

	"millrace/tfbridge"
)

// StagingSize returns how many batches are in a provider's staging area.
func StagingSize(p *QueueDataProvider, session *tfbridge.Session) (int, error) {
	return p.stage.StagingSize(context.Background(), session)
}
