# GPT-2 124M on 8 GPUs
mpirun -np 8 ./train_gpt2cu \
    -i "dev/data/fineweb10B/fineweb_train_*.bin" \
    -o "log_gpt2_124M" \
    -b 64 -t 1024 \
    -d 524288 \
    -r 0 -z 1 -c 0.1 -l 0.0006 -q 0.0 -u 700 -n 5000 -y 1 \
    -e "d12"
