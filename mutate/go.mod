module millrace/mutate

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	millrace v0.0.0
)

replace millrace => ../
