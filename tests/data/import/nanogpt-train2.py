# config of the small run
out_dir = 'out-train2'
wandb_log = False # set to True to log
batch_size = 16
block_size = 1024
gradient_accumulation_steps = 4 * 8   # 32

n_embd = 384
n_head = 6
max_iters = 600000
compile = True
my_own_switch = 3
