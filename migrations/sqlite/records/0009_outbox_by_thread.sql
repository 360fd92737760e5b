-- Whether the bot has said something in a thread is asked when the store of work does not know.
CREATE INDEX outbox_by_thread ON outbox (channel, thread_ts);
