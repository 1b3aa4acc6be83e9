module example.com/workflows

go 1.26.0

require github.com/perdure/perdure v0.0.0

require github.com/robfig/cron/v3 v3.0.1 // indirect

replace github.com/perdure/perdure => ../../../..
